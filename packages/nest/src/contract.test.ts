import { adapterContract } from '@fairlead/testing'
import { describe, it } from 'vitest'
import { nestHarness, platforms } from './fixtures/nest-harness.js'

const PLACES = ['interceptor', 'guard'] as const
/** Each platform and each place once; `pnpm test:wide` has all pairs. */
const placesOn = (platform: number) => (process.env['FAIRLEAD_WIDE'] === undefined ? [PLACES[platform]!] : PLACES)

for (const [i, [platform, adapter]] of platforms.entries())
  for (const at of placesOn(i))
    describe(`adapter contract, ${platform}, at the ${at}`, () => {
      for (const { name, run, timeoutMs } of adapterContract(nestHarness(adapter, at)))
        it.concurrent(name, run, timeoutMs)
    })
