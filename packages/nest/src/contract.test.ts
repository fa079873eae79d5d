import { adapterContract } from '@fairlead/testing'
import { describe, it } from 'vitest'
import { nestHarness, platforms } from './fixtures/nest-harness.js'

for (const [platform, adapter] of platforms)
  for (const at of ['interceptor', 'guard'] as const)
    describe(`adapter contract, ${platform}, at the ${at}`, () => {
      for (const { name, run, timeoutMs } of adapterContract(nestHarness(adapter, at)))
        it.concurrent(name, run, timeoutMs)
    })
