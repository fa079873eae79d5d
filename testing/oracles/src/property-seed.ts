import fc from 'fast-check'

/**
 * Properties draw their inputs from one seed, so that a run of the tests depends on the code alone.
 * `FAIRLEAD_PROPERTY_SEED` is another seed, or `random` (as in `pnpm test:deep`): a seed that is reported where a
 * property fails.
 */
const asked = process.env['FAIRLEAD_PROPERTY_SEED'] ?? '1'

if (asked !== 'random') {
  const seed = Number(asked)
  if (!Number.isInteger(seed) || seed !== seed << 0)
    throw new RangeError(`FAIRLEAD_PROPERTY_SEED must be "random" or an integer of 32 bits, got ${asked}`)
  fc.configureGlobal({ seed })
}
