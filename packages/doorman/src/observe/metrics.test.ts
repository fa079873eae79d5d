import { describe, expect, it } from 'vitest'
import { DoormanServer } from '../server/index.js'
import { Metrics } from './metrics.js'
import { Notices } from './notices.js'

const QUIET = { info: () => {}, warn: () => {}, error: () => {} }
const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength: 60, refreshInterval: 5, parameters: [] }

function metered() {
  const server = new DoormanServer({
    id: 'server',
    address: 'server:1',
    elected: true,
    repository: { resources: [{ identifierGlob: '*', capacity: 100, algorithm }] },
  })
  server.won({ afterNobody: true })
  const metrics = new Metrics(server, new Notices(QUIET, () => 0))
  const ask = (resourceId: string, wants: number): void => {
    server.getCapacity({ clientId: 'c', resource: [{ resourceId, priority: 0, wants }] })
  }
  /** The values of a metric, by its label. */
  const read = async (name: string): Promise<Map<string, number>> => {
    const lines = (await metrics.text()).matchAll(
      new RegExp(`^doorman_server_${name}(?:\\{\\w+="(.*)"\\})? (.*)$`, 'gm'),
    )
    return new Map([...lines].map(([, label = '', value]) => [label, Number(value)]))
  }
  return { server, ask, read }
}

const sum = (values: Iterable<number>): number => [...values].reduce((all, each) => all + each, 0)

describe('Metrics', () => {
  it('have a line for each of the hundred resources of which most is wanted, and one for the rest', async () => {
    const { ask, read } = metered()
    for (let i = 1; i <= 350; i++) ask(`db-${i}`, i)
    const wants = await read('wants')
    expect(wants.size).toBe(101)
    expect([wants.get('db-350'), wants.get('db-251'), wants.get('db-250')]).toEqual([350, 251, undefined])
    expect(wants.get('(other)')).toBe(sum(Array.from({ length: 250 }, (_, i) => i + 1)))
    expect(sum((await read('capacity')).values())).toBe(350 * 100)
    expect(sum((await read('subclients')).values())).toBe(350)
    expect(sum((await read('resource_requests')).values())).toBe(350)
    expect(await read('resources')).toEqual(new Map([['', 350]]))
  })

  it('have no line any more for what is forgotten', async () => {
    const { server, ask, read } = metered()
    ask('db', 10)
    expect(await read('wants')).toEqual(new Map([['db', 10]]))
    server.lost('other:1')
    expect(await read('wants')).toEqual(new Map())
    expect([await read('is_master'), await read('is_ready')]).toEqual([new Map([['', 0]]), new Map([['', 1]])])
    server.lost()
    expect(await read('is_ready')).toEqual(new Map([['', 0]]))
  })
})
