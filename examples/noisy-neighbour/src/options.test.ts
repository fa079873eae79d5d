import { describe, expect, it } from 'vitest'
import { parseOptions } from './options.js'

describe('parseOptions', () => {
  it('has defaults for everything', () => {
    const defaults = { once: false, watch: false, seconds: 20, seed: 1, resource: 'pool', load: 1.6, out: 'out' }
    expect(parseOptions([])).toEqual(defaults)
  })

  it('takes each flag', () => {
    const args = '--once --watch --seconds 3 --seed=42 --resource cpu --load 0.6 --out figures'.split(' ')
    expect(parseOptions(args)).toEqual({
      once: true,
      watch: true,
      seconds: 3,
      seed: 42,
      resource: 'cpu',
      load: 0.6,
      out: 'figures',
    })
  })

  it('gives way to --help', () => {
    expect(parseOptions(['--help'])).toBeUndefined()
  })

  it.each([
    [['--seconds', 'ten'], /--seconds .* got 'ten'/],
    [['--seconds', '0'], /--seconds .* got '0'/],
    [['--load', ''], /--load .* got ''/],
    [['--resource', 'disk'], /--resource .* got 'disk'/],
    [['--unknown'], /--unknown/],
    [['stray'], /stray/],
  ])('refuses %j and says why', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message)
  })
})
