import { adapterContract } from '@fairlead/testing'
import { describe, it } from 'vitest'
import { honoHarness } from './fixtures/hono-harness.js'

describe('adapter contract, Hono on Node', () => {
  for (const { name, run, timeoutMs } of adapterContract(honoHarness)) it.concurrent(name, run, timeoutMs)
})
