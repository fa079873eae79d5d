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
    minimumIntervalMs: 0,
    repository: { resources: [{ identifierGlob: '*', capacity: 100, algorithm }] },
  })
  server.won({ afterNobody: true })
  const metrics = new Metrics(server, new Notices(QUIET, () => 0))
  const service = metrics.counting(server)
  const ask = (resourceId: string, wants: number): void => {
    service.getCapacity({ clientId: 'c', resource: [{ resourceId, priority: 0, wants }] })
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

  it('time the answers about each of those resources, and those about all others together', async () => {
    const { ask, read } = metered()
    for (let i = 1; i <= 350; i++) ask(`db-${i}`, i)
    // The resources that come first have lines until it is known which have the largest wants.
    const first = await read('resource_durations_count')
    expect([first.get('(other)'), sum(first.values())]).toEqual([250, 250])
    for (let round = 0; round < 3; round++) for (let i = 1; i <= 350; i++) ask(`db-${i}`, i)
    const answers = await read('resource_durations_count')
    expect(answers.size).toBe(101)
    expect([answers.get('db-350'), answers.get('db-251'), answers.get('db-250')]).toEqual([3, 3, undefined])
    expect(answers.get('(other)')).toBe(250 + 3 * 250)
    expect((await read('resource_durations_sum')).get('db-350')).toBeGreaterThan(0)
  })

  it('count a request that is refused for no resource', async () => {
    const { ask, read } = metered()
    expect(() => ask('db', -1)).toThrow('wants')
    expect(await read('resource_durations_count')).toEqual(new Map())
    expect(await read('request_errors')).toEqual(new Map([['GetCapacity', 1]]))
  })
})
