import { adapterContract } from '@fairlead/testing'
import { describe, it } from 'vitest'
import { expressHarness, majors } from './fixtures/express-harness.js'

for (const [name, express] of majors.slice(1))
  describe(`adapter contract, ${name}`, () => {
    for (const { name, run, timeoutMs } of adapterContract(expressHarness(express))) it.concurrent(name, run, timeoutMs)
  })
