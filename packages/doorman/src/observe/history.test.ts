import { describe, expect, it } from 'vitest'
import { DoormanServer, type ServerResourceSummary } from '../server/index.js'
import { History, mostWanted } from './history.js'

const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength: 60, refreshInterval: 5, parameters: [] }

/** A server's summaries of resources with these wants. */
async function resources(...wants: number[]): Promise<ServerResourceSummary[]> {
  const server = new DoormanServer({
    id: 'server',
    repository: { resources: [{ identifierGlob: '*', capacity: 100, algorithm }] },
  })
  for (const [i, each] of wants.entries()) {
    const resource = [{ resourceId: `db-${i}`, priority: 0, wants: each, waiting: each / 2 }]
    server.getCapacity({ clientId: 'c', resource })
  }
  return (await server.summary()).resources
}

describe('History', () => {
  it('has what a resource was like, the oldest first', async () => {
    const history = new History()
    for (const wants of [10, 20, 200]) history.look(await resources(wants))
    expect(history.of('db-0')).toEqual([
      { has: 11, wants: 10, waiting: 5, capacity: 100 },
      { has: 22, wants: 20, waiting: 10, capacity: 100 },
      { has: 100, wants: 200, waiting: 100, capacity: 100 },
    ])
    expect(history.of('another')).toEqual([])
  })

  it('keeps five minutes of looks', async () => {
    const history = new History()
    const all = await Promise.all(Array.from({ length: 100 }, (_, i) => resources(i + 1)))
    for (const each of all) history.look(each)
    expect(history.of('db-0').map(({ wants }) => wants)).toEqual(Array.from({ length: 60 }, (_, i) => i + 41))
  })

  it('keeps the two hundred of which most is wanted, and forgets what is gone', async () => {
    const history = new History()
    const many = await resources(...Array.from({ length: 500 }, (_, i) => ((i * 7) % 500) + 1))
    history.look(many)
    const kept = many.filter(({ id }) => history.of(id).length > 0)
    expect(kept).toHaveLength(200)
    expect(Math.min(...kept.map(({ sumWants }) => sumWants))).toBe(301)
    history.look(many.slice(0, 1))
    expect(many.filter(({ id }) => history.of(id).length > 0)).toHaveLength(1)
  })
})

describe('mostWanted', () => {
  it('gives all where there are few, as they are', async () => {
    const few = await resources(1, 3, 2)
    expect(mostWanted(few, 3)).toEqual(few)
  })

  it('gives those of which most is wanted, the most first', async () => {
    expect(mostWanted(await resources(1, 5, 3, 4, 2), 3).map(({ sumWants }) => sumWants)).toEqual([5, 4, 3])
  })
})
