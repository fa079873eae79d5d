import { describe, expect, it } from 'vitest'
import { compileGlob } from './glob.js'

describe('compileGlob', () => {
  it.each([
    ['foo', 'foo', true],
    ['foo', 'Foo', false],
    ['*', '', true],
    ['*', 'a/b', false],
    ['a/*', 'a/b', true],
    ['a/*', 'a/b/c', false],
    ['a?c', 'abc', true],
    ['a?c', 'a/c', false],
    ['?', 'ü', true],
    ['?', '💧', true],
    ['[a-c]x', 'bx', true],
    ['[a-c]x', 'dx', false],
    ['[^a-c]x', 'dx', true],
    ['[^a-c]x', 'ax', false],
    ['[ab-]', 'a', 'syntax error in pattern "[ab-]"'],
    ['[a\\-c]', '-', true],
    ['[a\\-c]', 'b', false],
    ['[c-a]', 'b', false],
    ['[^c-a]', 'b', true],
    ['[', '[', 'syntax error in pattern "["'],
    ['[]a]', ']', 'syntax error in pattern "[]a]"'],
    ['[a', 'a', 'syntax error in pattern "[a"'],
    ['a\\', 'a', 'syntax error in pattern "a\\\\"'],
    ['a\\*b', 'a*b', true],
    ['a\\*b', 'axb', false],
    ['a.b+(c)', 'a.b+(c)', true],
    ['a.b', 'axb', false],
    ['*', 'two\nlines', true],
  ])('%s on %s: %s', (glob, name, expected) => {
    if (typeof expected === 'string') expect(() => compileGlob(glob)).toThrow(expected)
    else expect(compileGlob(glob)(name)).toBe(expected)
  })

  it('is a text', () => {
    for (const [glob, shown] of [
      [5, '5'],
      [null, 'null'],
      [['a'], 'an array'],
    ] as const)
      expect(() => compileGlob(glob as never)).toThrow(`a pattern must be a text, got ${shown}`)
  })

  it('does not try again what stands between two stars: sixty thousand dashes are read about once', () => {
    // Trying all placements of four stars among them would take longer than a lifetime.
    const dashes = '-'.repeat(60_000)
    expect(compileGlob('*-*-*-*-primary')(dashes)).toBe(false)
    expect(compileGlob('*-*-*-*-primary')(`${dashes}primary`)).toBe(true)
    expect(compileGlob('*a*b*c')('abcabcabd')).toBe(false)
    expect(compileGlob('*ab*cd')('xabyabcdzcd')).toBe(true)
  })
})
