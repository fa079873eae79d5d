import { adapterContract } from '@fairlead/testing'
import { describe, it } from 'vitest'
import { fastifyHarness, majors } from './fixtures/fastify-harness.js'

for (const [name, fastify] of majors.slice(0, 1))
  describe(`adapter contract, ${name}`, () => {
    for (const { name, run, timeoutMs } of adapterContract(fastifyHarness(fastify))) it.concurrent(name, run, timeoutMs)
  })
