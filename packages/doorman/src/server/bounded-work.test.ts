import { type AlgorithmKind, type GetServerCapacityRequest, inProcess } from '@fairlead/core/doorman'
import { manualClock, settled, World } from '@fairlead/core/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Blocks } from './blocks.js'
import { ChildLedger } from './child-ledger.js'
import { DoormanServer, type DoormanServerOptions } from './doorman-server.js'
import { PriorityBands } from './priority-bands.js'
import type { ResourceRepository } from './repository.js'
import { ServerResource } from './server-resource.js'

const EPOCH_MS = 1_700_000_000_000
/** Most steps of a call and of the work left over: both go through resources, and through the request. */
const MOST = 600

function repositoryOf(capacity: number, kind: AlgorithmKind = 'FAIR_SHARE', more: object = {}): ResourceRepository {
  const algorithm = { kind, leaseLength: 60, refreshInterval: 16, parameters: [], ...more }
  return { resources: [{ identifierGlob: '*', capacity, algorithm }] }
}

function serverWith(
  clients: number,
  { resources = 1, ...options }: Partial<DoormanServerOptions & { resources: number }> = {},
) {
  const clock = manualClock()
  let offMs = 0
  const set = (ms: number): void => {
    offMs = ms
  }
  const rests: (() => void)[] = []
  const server = new DoormanServer({
    id: 'server',
    repository: repositoryOf(20 * clients),
    clock,
    wallClock: () => EPOCH_MS + clock() + offMs,
    minimumIntervalMs: 0,
    limits: { clients: 2 * clients },
    after: (_, rest) => {
      rests.push(rest)
      return () => {}
    },
    ...options,
  })
  const ask = (clientId: string, resourceId = 'db', priority = 0): number | undefined =>
    server.getCapacity({ clientId, resource: [{ resourceId, priority, wants: 30 }] }).response[0]?.gets.capacity
  for (let i = 0; i < clients; i++) ask(`client-${i}`, resources === 1 ? 'db' : `db-${i % resources}`, -(i % 3))
  return { server, clock, set, ask, rests, known: () => server.snapshot().resources[0]!.clients }
}

/** All methods by which all children could be visited. */
function spies() {
  return [
    vi.spyOn(ChildLedger.prototype, 'children'),
    vi.spyOn(ChildLedger.prototype, 'watch'),
    vi.spyOn(ChildLedger.prototype, 'remove'),
    vi.spyOn(PriorityBands.prototype, 'enter'),
    vi.spyOn(PriorityBands.prototype, 'leave'),
    vi.spyOn(PriorityBands.prototype, 'change'),
  ]
}

afterEach(() => void vi.restoreAllMocks())

describe('what one call has to do', () => {
  it.each([3_000, 9_000])('lets go of no more than some of %i clients that are all gone', (clients) => {
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

  it.each([1, 500])('is no more where %i resources are full of clients that are gone', (resources) => {
    const { clock, ask, rests, server } = serverWith(5_000, { resources })
    clock.advance(10 * 60_000)
    const remove = vi.spyOn(ChildLedger.prototype, 'remove')
    const within = (call: () => unknown): void => {
      const before = remove.mock.calls.length
      call()
      expect(remove.mock.calls.length - before).toBeLessThanOrEqual(MOST / 2)
    }
    within(() => ask('another', 'db-0'))
    within(() => server.summary())
    // The rest is done without further calls.
    while (rests.length > 0) within(rests.shift()!)
    expect(remove).toHaveBeenCalledTimes(5_000)
    expect(server.snapshot().resources.map(({ id, clients }) => [id, clients])).toEqual([['db-0', 1]])
  })

  it('has those that are gone count until they are let go, so that nothing is given twice', async () => {
    const clients = 3_000
    const { server, clock, ask } = serverWith(clients)
    clock.advance(10 * 60_000)
    for (let i = 0; i < clients; i++) {
      ask(`new-${i}`)
      const { sumHas, capacity } = (await server.summary()).resources[0]!
      expect(sumHas).toBeLessThanOrEqual(capacity)
    }
  })

  it.each([
    ['a clock that is set back', ({ set }) => set(-20_000)],
    ['a clock that is set forward', ({ set }) => set(20_000)],
    ['mastership that is lost', ({ server }) => server.lost('other')],
    ['mastership that is won', ({ server }) => server.won()],
    ...(['PROPORTIONAL_SHARE', 'STATIC', 'NO_ALGORITHM'] as const).map(
      (kind): [string, (of: ReturnType<typeof serverWith>) => void] => [
        `an algorithm that becomes ${kind}`,
        ({ server }) => server.configure(repositoryOf(60_000, kind)),
      ],
    ),
    ['other times', ({ server }) => server.configure(repositoryOf(60_000, 'FAIR_SHARE', { leaseLength: 40 }))],
    ['a unit that is larger', ({ server }) => server.configure(repositoryOf(6e7))],
    ['a unit that is smaller', ({ server }) => server.configure(repositoryOf(60))],
    [
      'other shares of bands',
      ({ server }) =>
        server.configure(
          repositoryOf(60_000, 'FAIR_SHARE', { parameters: [{ name: 'minimum_share:-1', value: '0.5' }] }),
        ),
    ],
  ] as [string, (of: ReturnType<typeof serverWith>) => void][])('visits no client for %s', (_, change) => {
    const world = serverWith(3_000)
    const counted = spies()
    change(world)
    world.ask('client-1')
    world.server.summary()
    const calls = counted.map(({ mock }) => mock.calls.length)
    expect(Math.max(...calls), calls.join()).toBeLessThanOrEqual(2)
  })

  it('takes a new configuration to some resources, and the rest follows by itself', () => {
    const { server, rests, ask } = serverWith(3_000, { resources: 3_000 })
    const configure = vi.spyOn(ServerResource.prototype, 'configure')
    server.configure(repositoryOf(7))
    // More is leased than is available now.
    expect(ask('newcomer', 'db-2999')).toBe(0)
    expect(configure.mock.calls.length).toBeLessThanOrEqual(MOST / 2)
    for (let before = 0; rests.length > 0; before = configure.mock.calls.length) {
      rests.shift()!()
      expect(configure.mock.calls.length - before).toBeLessThanOrEqual(MOST / 2)
    }
    expect(configure).toHaveBeenCalledTimes(3_000)
    expect(new Set(server.snapshot().resources.map(({ capacity }) => capacity))).toEqual(new Set([7]))
  })

  it('has a summary of all resources, and looks at some of them at a time', async () => {
    const { server, rests } = serverWith(3_000, { resources: 3_000 })
    const looks = vi.spyOn(ServerResource.prototype, 'capacity')
    const summary = server.summary()
    let before = 0
    let pauses = 0
    for (let done = false; !done; ) {
      expect(looks.mock.calls.length - before).toBeLessThanOrEqual(MOST / 4)
      before = looks.mock.calls.length
      rests.shift()?.()
      pauses++
      done = await Promise.race([summary.then(() => true), Promise.resolve().then(() => Promise.resolve(false))])
    }
    expect(pauses).toBeGreaterThan(3_000 / (MOST / 4))
    expect(new Set((await summary).resources.map(({ id }) => id)).size).toBe(3_000)
  })

  it('moves no more than a block when a client leaves', () => {
    const { server } = serverWith(5_000)
    const append = vi.spyOn(Blocks.prototype, 'append')
    for (let i = 0; i < 5_000; i++) {
      const before = append.mock.calls.length
      server.releaseCapacity({ clientId: `client-${i}`, resourceId: ['db'] })
      expect(append.mock.calls.length - before).toBeLessThanOrEqual(64)
    }
    expect(append.mock.calls.length, 'per client that leaves').toBeLessThanOrEqual(2 * 5_000)
  })

  it('reports few sums to a parent, for any priorities, and clients that hold nothing', async () => {
    const asked: GetServerCapacityRequest[] = []
    const connect = () => ({
      getServerCapacity: (request: GetServerCapacityRequest) => {
        asked.push(request)
        return Promise.reject(new Error('nobody is there'))
      },
    })
    const parent = { connect } as unknown as NonNullable<DoormanServerOptions['parent']>
    const { clock, ask } = serverWith(0, { parent, limits: {} })
    for (let i = 0; i < 4_000; i++) ask(`client-${i}`, 'db', -(i % 40))
    for (let round = 0; round < 20; round++) {
      clock.advance(10_000)
      for (let i = 0; i < 8; i++) await Promise.resolve()
      ask('another')
    }
    expect(asked.length).toBeGreaterThan(1)
    for (const { resource } of asked) expect(resource[0]!.wants.length).toBeLessThanOrEqual(65)
  })

  it('asks a parent about as many resources at a time as a server takes, and about all of them', async () => {
    const world = new World()
    const { clock, after } = world
    const wallClock = (): number => EPOCH_MS + clock()
    const common = { repository: repositoryOf(100), clock, wallClock, after, minimumIntervalMs: 0 }
    const root = new DoormanServer({ id: 'root', ...common })
    const questions = vi.spyOn(root, 'getServerCapacity').mockImplementation(() => {
      throw new Error('nobody is there')
    })
    const node = new DoormanServer({ id: 'node', ...common, parent: inProcess(root) })
    const ids = Array.from({ length: 2_500 }, (_, i) => `db-${i}`)
    const ask = () =>
      ids.map((resourceId, i) => {
        const request = { clientId: `client-${i}`, resource: [{ resourceId, priority: 0, wants: 10 }] }
        return node.getCapacity(request).response[0]!.gets.capacity
      })
    // A client that does not come back no longer counts.
    const pass = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second++) {
        ask()
        for (let i = 0; i < 20; i++) {
          world.advance(50)
          await settled()
        }
      }
    }
    await pass(20)
    expect(questions.mock.calls.length, 'while there is no answer').toBeLessThanOrEqual(12)
    questions.mockRestore()
    await pass(3)
    expect(new Set(ask())).toEqual(new Set([10.5]))
    node.close()
  })
})
