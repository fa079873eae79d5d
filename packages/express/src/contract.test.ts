import { adapterContract } from '@fairlead/testing'
import { describe, it } from 'vitest'
import { expressHarness, majors } from './fixtures/express-harness.js'

for (const [name, express] of majors)
  describe(`adapter contract, ${name}`, () => {
    for (const { name, run, timeoutMs } of adapterContract(expressHarness(express))) it.concurrent(name, run, timeoutMs)
  })
