import { describe, expect, it } from 'vitest'
import { durationMs, flagsFrom, helpOf, unknownVariables } from './flags.js'

const FLAGS = {
  'debug-port': { value: 'PORT', help: 'of the page' },
  config: { value: 'WHERE', help: 'what there is' },
  tls: { help: 'on or off' },
}

describe('flags', () => {
  it('are taken as they are given, also as the published commands take them', () => {
    expect(flagsFrom(FLAGS, ['--debug-port', '1', '--config=a b', '--tls'])).toEqual({
      'debug-port': '1',
      config: 'a b',
      tls: 'true',
    })
    expect(flagsFrom(FLAGS, ['-debug_port=1', '-tls'])).toEqual({ 'debug-port': '1', tls: 'true' })
    expect(flagsFrom(FLAGS, ['--config', 'under_score'])).toEqual({ config: 'under_score' })
  })

  it('may be variables; a flag wins', () => {
    const environment = { DOORMAN_DEBUG_PORT: '1', DOORMAN_CONFIG: 'a', DOORMAN_TLS: 'true' }
    expect(flagsFrom(FLAGS, ['--config', 'b'], environment)).toEqual({ 'debug-port': '1', config: 'b', tls: 'true' })
    expect(flagsFrom(FLAGS, [], { DOORMAN_TLS: 'false', DOORMAN_CONFIG: '' })).toEqual({})
    expect(() => flagsFrom(FLAGS, [], { DOORMAN_TLS: 'yes' })).toThrow('DOORMAN_TLS must be true or false, got "yes"')
    expect(unknownVariables(FLAGS, { DOORMAN_CONFIG: '', DOORMAN_CONFIGG: '', HOME: '' })).toEqual(['DOORMAN_CONFIGG'])
  })

  it('are refused when they are unknown or have no value', () => {
    expect(() => flagsFrom(FLAGS, ['--prot', '1'])).toThrow('--prot')
    expect(() => flagsFrom(FLAGS, ['--config'])).toThrow('--config')
    expect(() => flagsFrom(FLAGS, ['extra'])).toThrow('extra')
  })

  it('have a line of help each', () => {
    expect(
      helpOf(FLAGS)
        .split('\n')
        .map((line) => line.trim().split(/\s{2,}/)),
    ).toEqual([
      ['--debug-port PORT', 'of the page'],
      ['--config WHERE', 'what there is'],
      ['--tls', 'on or off'],
    ])
  })
})

describe('durations', () => {
  it.each([
    ['10s', 10_000],
    ['1m30s', 90_000],
    ['500ms', 500],
    ['1.5h', 5_400_000],
    ['0', 0],
  ])('%s', (text, ms) => {
    expect(durationMs('--master-delay', text)).toBe(ms)
  })

  it.each(['', '10', 's', '-1s', '10 s'])('are not %j', (text) => {
    expect(() => durationMs('--master-delay', text)).toThrow('--master-delay must be a duration like 10s')
  })
})
