import { manualClock } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { LeaseServer } from './lease-server.js'

const EPOCH_MS = 1_700_000_000_000
/** What is let go at most by a call, the sweep that it may bring along, and the look at what is left: a thousand each. */
const MOST = 3_000

function serverWith(clients: number) {
  const clock = manualClock()
  const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength: 60, refreshInterval: 16, parameters: [] }
  const server = new LeaseServer({
    id: 'server',
    repository: { resources: [{ identifierGlob: '*', capacity: 20 * clients, algorithm }] },
    clock,
    wallClock: () => EPOCH_MS + clock(),
    minimumIntervalMs: 0,
    limits: { clients: 2 * clients },
  })
  const ask = (clientId: string): number | undefined =>
    server.getCapacity({ clientId, resource: [{ resourceId: 'db', priority: 0, wants: 30 }] }).response[0]?.gets
      .capacity
  for (let i = 0; i < clients; i++) ask(`client-${i}`)
  return { server, clock, ask, known: () => server.summary().resources[0]!.clients }
}

describe('what one call has to do', () => {
  it.each([5_000, 20_000])('lets go of no more than some of %i clients that are all gone', (clients) => {
    const { clock, ask, known } = serverWith(clients)
    clock.advance(10 * 60_000)
    let calls = 0
    for (let before = known(); before > 1; calls++) {
      expect(ask('another'), 'an answer').toBeDefined()
      const after = known()
      expect(before - after).toBeLessThanOrEqual(MOST)
      before = after
    }
    expect(ask('one more')).toBeGreaterThan(0)
    expect(calls).toBeGreaterThanOrEqual(clients / MOST - 1)
  })

  it('has those that are gone count until they are let go, so that nothing is given twice', () => {
    const clients = 3_000
    const { server, clock, ask } = serverWith(clients)
    clock.advance(10 * 60_000)
    for (let i = 0; i < clients; i++) {
      ask(`new-${i}`)
      const { sumHas, capacity } = server.summary().resources[0]!
      expect(sumHas).toBeLessThanOrEqual(capacity)
    }
  })
})
