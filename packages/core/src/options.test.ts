import { expect, it } from 'vitest'
import { fail } from './options.js'

it('a bad value is shown in a message, whatever it is', () => {
  const values: [value: unknown, shown: string][] = [
    [10n, '10'],
    [Symbol('s'), 'Symbol(s)'],
    [Object.create(null), 'an object'],
    [[], 'an array'],
    [Promise.reject(new Error('late')), 'a promise'],
    [null, 'null'],
  ]
  for (const [value, shown] of values)
    expect(() => fail('limit', 'a number', value)).toThrow(`limit must be a number, got ${shown}`)
})
