import { parseArgs } from 'node:util'

/** A flag of a command: `--name VALUE`, or a switch if `value` is missing. */
interface Flag {
  /** The placeholder of its value in the help text. */
  readonly value?: string
  readonly help: string
}

export type Flags<Name extends string = string> = Readonly<Record<Name, Flag>>

/** The given values, by the names of the flags. A switch that is on has the value `'true'`. */
export type Given<Name extends string> = { readonly [Each in Name]?: string }

/** The command line is invalid. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError'
}

/**
 * Parses the flags in `args` and, for the missing ones, variables like `DOORMAN_DEBUG_PORT` of `environment`. One dash
 * equals two, and `_` equals `-`, as in the published commands. Throws a {@link UsageError}.
 */
export function flagsFrom<Name extends string>(
  flags: Flags<Name>,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = {},
): Given<Name> {
  const options = Object.fromEntries(
    Object.entries<Flag>(flags).map(([name, { value }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  const given: Record<string, string> = {}
  for (const [name, flag] of Object.entries<Flag>(flags)) {
    const value = environment[variableOf(name)]
    if (value === undefined || value === '') continue
    if (flag.value !== undefined) given[name] = value
    else if (value === 'true' || value === '1') given[name] = 'true'
    else if (value !== 'false' && value !== '0')
      throw new UsageError(`${variableOf(name)} must be true or false, got ${JSON.stringify(value)}`)
  }
  try {
    const { values } = parseArgs({ args: args.map(plain), options, strict: true, allowPositionals: false })
    for (const [name, value] of Object.entries(values)) given[name] = String(value)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
  return given as Given<Name>
}

/** Variables that look like flags of ours but are not: perhaps misspelt. */
export function unknownVariables(flags: Flags, environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set(Object.keys(flags).map(variableOf))
  return Object.keys(environment).filter((name) => name.startsWith('DOORMAN_') && !known.has(name))
}

/** Help text, a line for each flag. */
export function helpOf(flags: Flags): string {
  const lines = Object.entries(flags).map(([name, { value, help }]) => {
    const left = value === undefined ? `--${name}` : `--${name} ${value}`
    return `  ${left.padEnd(40)} ${help}`
  })
  return lines.join('\n')
}

function variableOf(name: string): string {
  return `DOORMAN_${name.toUpperCase().replaceAll('-', '_')}`
}

/** `-debug_port=1` as `--debug-port=1`. */
function plain(argument: string): string {
  const match = /^--?([a-z][a-z_-]+)(=.*)?$/s.exec(argument)
  return match === null ? argument : `--${match[1]!.replaceAll('_', '-')}${match[2] ?? ''}`
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Milliseconds of `10s`, `1m30s`, `500ms` or `0`. Throws a `TypeError` that names the option. */
export function durationMs(name: string, text: string): number {
  if (text === '0') return 0
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text))
    throw new TypeError(`${name} must be a duration like 10s, 1m30s or 500ms, got ${JSON.stringify(text)}`)
  let ms = 0
  for (const [, number, unit] of text.matchAll(/([\d.]+)(ms|s|m|h)/g)) ms += Number(number) * UNITS_MS[unit!]!
  return ms
}
