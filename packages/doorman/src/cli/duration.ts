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
