/**
 * What a sweep goes over: `few` (seeds, cases, a count) in `pnpm test`, `all` in `pnpm test:wide`. The few must fail,
 * too, when the rule under test is broken.
 */
export function byWidth<T>(few: T, all: T): T {
  return process.env['FAIRLEAD_WIDE'] === undefined ? few : all
}
