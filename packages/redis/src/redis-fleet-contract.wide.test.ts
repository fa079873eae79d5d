import { fleetContract } from '@fairlead/testing'
import { type RedisServer, startRedis } from '@fairlead-testing/servers'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { startMember } from './fixtures/start-member.js'

let server: RedisServer

describe('processes that share a clock by way of Redis', () => {
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())
  const contract = fleetContract({
    start: (load) => startMember(server.url, load),
    cut: () => server.hang(),
    mend: () => server.resume(),
    async forget(alone) {
      const { port } = server
      await server.stop()
      await alone()
      server = await startRedis({ port })
    },
  })
  for (const { name, run, timeoutMs } of contract) it(name, run, timeoutMs)
})
