/**
 * Formats a bad value for a message: short, and it throws for none but a proxy that does. A promise is the result of a
 * function that should have answered at once: its rejection is caught here, because an unhandled one would end the
 * process.
 */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  if (!(value instanceof Promise)) return Array.isArray(value) ? 'an array' : 'an object'
  value.catch(() => {})
  return 'a promise'
}

/** Throws an error that says what `name` must be, and shows the value that it is. */
export function fail(name: string, expected: string, value: unknown): never {
  const message = `${name} must be ${expected}, got ${show(value)}`
  throw typeof value === 'number' ? new RangeError(message) : new TypeError(message)
}

/**
 * Checks that `options` is a plain object with no key but those of `known`; a misspelt option is an error, not a no-op.
 */
export function requireOptions(name: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) fail(name, 'an object', options)
  for (const key of Object.keys(options))
    if (!known.includes(key))
      throw new TypeError(`${name} has no option ${show(key)}; it knows ${known.toSorted().join(', ')}`)
}

/** The options, with `defaults` for those that are missing or `undefined`. */
export function withDefaults<O extends object, D extends Partial<O>>(options: O, defaults: D): O & D {
  const all = { ...options } as Record<string, unknown>
  for (const [option, value] of Object.entries(defaults)) if (all[option] === undefined) all[option] = value
  return all as O & D
}

const { POSITIVE_INFINITY } = Number

/** Checks for a finite number in [`least`, `most`]. */
export function requireNumber(name: string, value: unknown, least: number, most: number = POSITIVE_INFINITY): void {
  if (Number.isFinite(value) && (value as number) >= least && (value as number) <= most) return
  fail(name, within('a number', least, most), value)
}

/** Checks for a finite number above `floor`, at most `most`. */
export function requireAbove(name: string, value: unknown, floor: number, most: number = POSITIVE_INFINITY): void {
  if (Number.isFinite(value) && (value as number) > floor && (value as number) <= most) return
  fail(name, `a number > ${floor}${most === POSITIVE_INFINITY ? '' : ` and <= ${most}`}`, value)
}

/** Checks for a whole number in [`least`, `most`]. */
export function requireInteger(name: string, value: unknown, least: number, most: number = POSITIVE_INFINITY): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return
  fail(name, within('an integer', least, most), value)
}

function within(kind: string, least: number, most: number): string {
  return most === POSITIVE_INFINITY ? `${kind} >= ${least}` : `${kind} from ${least} to ${most}`
}

/** Checks for a function. */
export function requireFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') fail(name, 'a function', value)
}

/** Checks for an `AbortSignal` of any realm or library. */
export function requireAbortSignal(name: string, value: unknown): void {
  const signal = value as Partial<AbortSignal> | null
  const isSignal = typeof signal?.aborted === 'boolean' && typeof signal.addEventListener === 'function'
  if (!isSignal) fail(name, 'an AbortSignal', value)
}

/** Checks for `true` or `false`. */
export function requireBoolean(name: string, value: unknown): void {
  if (typeof value !== 'boolean') fail(name, 'true or false', value)
}

/** Checks for a non-empty string. */
export function requireText(name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') fail(name, 'a non-empty string', value)
}

/** Checks for one of `words`. */
export function requireOneOf(name: string, value: unknown, words: readonly string[]): void {
  if (typeof value !== 'string' || !words.includes(value)) fail(name, `one of ${words.map(show).join(', ')}`, value)
}

/** Checks the value of one option; throws an error that names it. */
export type Check = (name: string, value: unknown) => void

/** Checks the given options that `checks` names; `prefix` stands before their names in messages. */
export function requireGiven(checks: Readonly<Record<string, Check>>, options: object, prefix: string = ''): void {
  for (const [option, check] of Object.entries(checks)) {
    const value = (options as Record<string, unknown>)[option]
    if (value !== undefined) check(prefix + option, value)
  }
}

/** One of the checks above with its bounds: `by(requireInteger, 1, 16)`. */
export function by<A extends unknown[]>(
  require: (name: string, value: unknown, ...bounds: A) => void,
  ...bounds: A
): Check {
  return (name, value) => require(name, value, ...bounds)
}

/** For each option its check and its default; those of `U` have none. */
export type OptionRules<O, U extends keyof O = never> = {
  readonly [K in keyof O]-?: K extends U ? readonly [Check] : readonly [Check, Exclude<O[K], undefined>]
}

/** Options with their defaults; those of `U` may be undefined. */
export type Settings<O, U extends keyof O = never> = Readonly<Required<Omit<O, U>> & { [K in U]: O[K] | undefined }>

/**
 * Checks the options that `rules` names, and fills in their defaults. Unknown names are {@link requireOptions}'s to
 * check.
 */
export function settingsFrom<O extends object, U extends keyof O = never>(
  options: O,
  rules: OptionRules<O, U>,
): Settings<O, U> {
  const settings: Partial<Record<keyof O, unknown>> = {}
  for (const option of Object.keys(rules) as (keyof O & string)[]) {
    const [check, otherwise]: readonly [Check, unknown?] = rules[option]
    const given: unknown = options[option]
    if (given !== undefined) check(option, given)
    settings[option] = given === undefined ? otherwise : given
  }
  return settings as Settings<O, U>
}
