import { adapterContract } from '@fairlead/testing'
import { describe, it } from 'vitest'
import { koaHarness, majors } from './fixtures/koa-harness.js'

for (const [name, Koa] of majors.slice(1))
  describe(`adapter contract, ${name}`, () => {
    for (const { name, run, timeoutMs } of adapterContract(koaHarness(Koa))) it.concurrent(name, run, timeoutMs)
  })
