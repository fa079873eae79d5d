import {
  type AlgorithmKind,
  type GetCapacityRequest,
  inProcess,
  type Lease,
  type ResourceRequest,
} from '@fairlead/core/doorman'
import { manualClock, seededRandom } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import type { DoormanServerNotice } from './doorman-node.js'
import { DoormanServer, type DoormanServerOptions } from './doorman-server.js'
import type { ResourceRepository } from './repository.js'

const EPOCH_MS = 1_700_000_000_000
const SECOND_MS = 1_000

function repositoryOf(
  capacity: number,
  { glob = '*', kind = 'FAIR_SHARE' as AlgorithmKind, refreshInterval = 5, leaseLength = 60 } = {},
): ResourceRepository {
  const algorithm = { kind, leaseLength, refreshInterval, parameters: [] }
  const rest = glob === '*' ? [] : [{ identifierGlob: '*', capacity: 0, algorithm }]
  return { resources: [{ identifierGlob: glob, capacity, algorithm }, ...rest] }
}

/** A server with clocks that a test advances, and sets wrong. */
function serverAt(clock: () => number, options: Partial<DoormanServerOptions>): DoormanServer {
  return new DoormanServer({
    id: 'server',
    repository: repositoryOf(100),
    clock,
    wallClock: () => EPOCH_MS + clock(),
    minimumIntervalMs: 0,
    ...options,
  })
}

function ask(
  server: DoormanServer,
  clientId: string,
  wants: number,
  has?: Lease,
  more: Partial<ResourceRequest> & Partial<GetCapacityRequest> = {},
): Lease | undefined {
  const { instance, releases, resourceId = 'db', ...rest } = more
  const request: ResourceRequest = { resourceId, priority: 0, wants, ...rest, ...(has === undefined ? {} : { has }) }
  const own = { ...(instance === undefined ? {} : { instance }), ...(releases === undefined ? {} : { releases }) }
  return server.getCapacity({ clientId, ...own, resource: [request] }).response[0]?.gets
}

/** Clients that each ask when their refresh is due, somewhat late. */
class Fleet {
  readonly #clock: ReturnType<typeof manualClock>
  readonly #clients: { server: DoormanServer; id: string; wants: number; nextMs: number; lease: Lease | undefined }[]
  readonly #random: () => number

  constructor(
    clock: ReturnType<typeof manualClock>,
    serverOf: (i: number) => DoormanServer,
    count: number,
    refreshSeconds: number,
    seed: number,
  ) {
    this.#clock = clock
    this.#random = seededRandom(seed)
    this.#clients = Array.from({ length: count }, (_, i) => ({
      server: serverOf(i),
      id: `client-${i}`,
      wants: 5 + ((i * 37) % 50),
      nextMs: (i / count) * refreshSeconds * SECOND_MS,
      lease: undefined,
    }))
  }

  get sum(): number {
    return this.#clients.reduce((sum, { lease }) => sum + (this.#holds(lease)?.capacity ?? 0), 0)
  }

  /** Advances the time, and checks the sum ten times a second. */
  async pass(seconds: number, look: (sum: number) => void = () => {}): Promise<void> {
    for (let step = 0; step < seconds * 10; step++) {
      this.#clock.advance(100)
      for (const client of this.#clients) {
        if (this.#clock() < client.nextMs) continue
        const gets = ask(client.server, client.id, client.wants, this.#holds(client.lease))
        if (gets !== undefined) client.lease = gets
        const seconds = gets === undefined ? 1 : gets.refreshInterval * (1 + 0.1 * this.#random())
        client.nextMs = this.#clock() + seconds * SECOND_MS
      }
      for (let i = 0; i < 8; i++) await Promise.resolve()
      look(this.sum)
    }
  }

  #holds(lease: Lease | undefined): Lease | undefined {
    return lease !== undefined && lease.expiryTime * SECOND_MS > EPOCH_MS + this.#clock() ? lease : undefined
  }
}

describe('a capacity that is cut', () => {
  it.each([
    ['FAIR_SHARE', 50, 4, [990, 600, 594, 360]],
    ['FAIR_SHARE', 1_000, 16, [900, 600]],
    ['PROPORTIONAL_SHARE', 50, 16, [600, 360, 300]],
  ] as const)(
    '%s, %i clients, refresh %i s, to %j: comes down to the new one, and no further',
    async (kind, count, refreshInterval, cuts) => {
      const clock = manualClock()
      const config = (capacity: number): ResourceRepository => repositoryOf(capacity, { kind, refreshInterval })
      const server = serverAt(clock, { repository: config(1_000), minimumIntervalMs: 2_000 })
      const fleet = new Fleet(clock, () => server, count, refreshInterval, count)
      await fleet.pass(60 + 3 * refreshInterval)
      let before = 1_000
      for (const capacity of cuts) {
        server.configure(config(capacity))
        let least = Number.POSITIVE_INFINITY
        await fleet.pass(2 * refreshInterval, (sum) => {
          least = Math.min(least, sum)
          expect(sum, 'what is out').toBeLessThanOrEqual(before + 1e-6)
        })
        expect(least / capacity, 'the least in use, as a part of the new capacity').toBeGreaterThanOrEqual(0.95)
        expect(fleet.sum, 'what is out in the end').toBeLessThanOrEqual(capacity + 1e-6)
        before = capacity
      }
    },
  )

  it('comes down in a tree as well', async () => {
    const clock = manualClock()
    const timers: { atMs: number; fn: () => void }[] = []
    const after = (ms: number, fn: () => void) => {
      const timer = { atMs: clock() + ms, fn }
      timers.push(timer)
      return () => void timers.splice(timers.indexOf(timer) >>> 0, 1)
    }
    const root = serverAt(clock, { repository: repositoryOf(1_000), minimumIntervalMs: 1_000 })
    const [left, right] = ['left', 'right'].map((id) =>
      serverAt(clock, { id, parent: inProcess(root), minimumIntervalMs: 1_000, after }),
    )
    const fleet = new Fleet(clock, (i) => (i % 3 === 0 ? left! : right!), 40, 5, 7)
    const pass = async (seconds: number, look?: (sum: number) => void): Promise<void> => {
      for (let step = 0; step < seconds * 10; step++) {
        for (const timer of timers.filter(({ atMs }) => atMs <= clock())) {
          timers.splice(timers.indexOf(timer), 1)
          timer.fn()
        }
        await fleet.pass(0.1, look)
      }
    }
    await pass(90)
    expect(fleet.sum).toBeGreaterThan(970)
    root.configure(repositoryOf(600))
    let least = Number.POSITIVE_INFINITY
    await pass(30, (sum) => {
      least = Math.min(least, sum)
      expect(sum).toBeLessThanOrEqual(1_000 + 1e-6)
    })
    expect(least / 600).toBeGreaterThanOrEqual(0.95)
    expect(fleet.sum).toBeLessThanOrEqual(600 + 1e-6)
  })
})

describe('a configuration that for a while matches a resource no more', () => {
  it('leaves what is leased on the account until it ends, and gives nothing meanwhile', () => {
    const clock = manualClock()
    const server = serverAt(clock, { repository: repositoryOf(100, { glob: 'db/*' }) })
    const about = { resourceId: 'db/main' }
    const first = ask(server, 'first', 100, undefined, about)!
    expect(first.capacity).toBe(100)
    server.configure(repositoryOf(100, { glob: 'dbx/*' }))
    clock.advance(2_000)
    expect(ask(server, 'first', 100, first, about)).toBeUndefined()
    expect(server.snapshot().resources).toMatchObject([{ id: 'db/main', withdrawn: true, sumHeld: 100 }])
    clock.advance(3_000)
    server.configure(repositoryOf(100, { glob: 'db/*' }))
    expect(ask(server, 'second', 100, undefined, about)!.capacity).toBe(0)
    clock.advance(58_000)
    expect(ask(server, 'second', 100, undefined, about)!.capacity).toBe(100)
  })

  it('forgets the resource when nothing of it is leased any more', () => {
    const clock = manualClock()
    const server = serverAt(clock, { repository: repositoryOf(100, { glob: 'db/*' }) })
    ask(server, 'first', 100, undefined, { resourceId: 'db/main' })
    server.configure(repositoryOf(100))
    clock.advance(130_000)
    ask(server, 'other', 1)
    expect(server.snapshot().resources.map(({ id }) => id)).toEqual(['db'])
  })
})

describe('a wall clock that is corrected', () => {
  /** A server whose wall clock is wrong by `offMs` until the test sets that to 0. */
  function skewed(offMs: number, options: Partial<DoormanServerOptions> = {}) {
    const clock = manualClock()
    const world = { clock, offMs }
    const wallClock = (): number => EPOCH_MS + clock() + world.offMs
    return { world, server: serverAt(clock, { wallClock, ...options }), now: () => (EPOCH_MS + clock()) / SECOND_MS }
  }

  it.each([20_300, -20_300, 0.4])('was off by %d ms when the server started: leases end by the right one', (offMs) => {
    const { world, server, now } = skewed(offMs)
    world.clock.advance(1_000)
    world.offMs = 0
    world.clock.advance(500)
    const rest = ask(server, 'c', 50)!.expiryTime - now()
    expect(rest).toBeGreaterThan(59)
    expect(rest).toBeLessThanOrEqual(60)
  })

  it('was ahead: what was leased by it counts until it has ended by the right one', () => {
    const { world, server, now } = skewed(20_000)
    const { expiryTime } = ask(server, 'cut off', 100)!
    expect(expiryTime - now()).toBe(80)
    world.offMs = 0
    world.clock.advance(75_000)
    expect(ask(server, 'other', 100)!.capacity).toBe(0)
    world.clock.advance(7_000)
    expect(ask(server, 'other', 100)!.capacity).toBe(100)
  })

  it('was behind: nothing is given again before it would have been', () => {
    const { world, server } = skewed(-20_000)
    ask(server, 'cut off', 100)
    world.offMs = 0
    world.clock.advance(55_000)
    expect(ask(server, 'other', 100)!.capacity).toBe(0)
    world.clock.advance(7_000)
    expect(ask(server, 'other', 100)!.capacity).toBe(100)
  })

  it.each([
    [20_000, 60],
    [-20_000, 80],
  ])(
    'by %d ms: what a predecessor may have leased is kept back for %d s, by the old clock and the new',
    (ms, seconds) => {
      const { world, server } = skewed(0, { elected: true })
      // Corrected earlier as well.
      world.offMs = 5_000
      server.won()
      ask(server, 'first', 10)
      world.offMs += ms
      world.clock.advance((seconds - 5) * SECOND_MS)
      expect(ask(server, 'newcomer', 100)!.capacity).toBe(0)
      world.clock.advance(7_000)
      expect(ask(server, 'newcomer', 100)!.capacity).toBe(100)
    },
  )

  it('does not keep clients from being answered', () => {
    const { world, server } = skewed(0, { minimumIntervalMs: 5_000 })
    ask(server, 'c', 50)
    for (const offMs of [-3_600_000, 3_600_000, 0]) {
      world.offMs = offMs
      world.clock.advance(5_000)
      expect(ask(server, 'c', 50)?.capacity).toBe(55)
    }
  })

  it('takes mastership away that its lock may not have outlived: the machine may have slept', () => {
    const { world, server } = skewed(0, { elected: true, address: 'here:1' })
    server.won()
    server.lockHolds(10_000, 0)
    expect(server.discovery().isMaster).toBe(true)
    world.offMs = 11_000
    expect(server.discovery().isMaster).toBe(false)
    server.lockHolds(10_000, world.clock())
    expect(server.discovery().isMaster).toBe(true)
    world.offMs = 0
    world.clock.advance(9_900)
    expect(server.discovery().isMaster).toBe(true)
    world.clock.advance(200)
    expect(server.discovery().isMaster).toBe(false)
  })
})

describe('a release that was under way for long', () => {
  it('leaves what its client has asked for since, so that no more is out than there is', () => {
    const clock = manualClock()
    const server = serverAt(clock, {})
    const first = ask(server, 'web:1', 80, undefined, { releases: 0 })
    clock.advance(6_000)
    const anew = ask(server, 'web:1', 80, undefined, { releases: 1 })
    server.releaseCapacity({ clientId: 'web:1', releases: 0, resourceId: ['db'] })
    clock.advance(1_000)
    const other = ask(server, 'web:2', 80)
    expect([first!.capacity, anew!.capacity].every((capacity) => capacity >= 80)).toBe(true)
    expect(anew!.capacity + other!.capacity).toBeLessThanOrEqual(100)
    server.releaseCapacity({ clientId: 'web:1', releases: 1, resourceId: ['db'] })
    clock.advance(1_000)
    expect(ask(server, 'web:2', 80, other)!.capacity).toBeGreaterThanOrEqual(80)
  })

  it('takes what there is where the client does not count, as published ones', () => {
    const clock = manualClock()
    const server = serverAt(clock, {})
    ask(server, 'web:1', 80)
    server.releaseCapacity({ clientId: 'web:1', resourceId: ['db'] })
    expect(ask(server, 'web:2', 80)!.capacity).toBeGreaterThanOrEqual(80)
  })
})

describe('two processes that go by the same id', () => {
  it('are two clients where they say so, share what there is, and are told of', () => {
    const clock = manualClock()
    const notices: DoormanServerNotice[] = []
    const server = serverAt(clock, { onNotice: (notice) => notices.push(notice) })
    const leases = new Map<string, Lease | undefined>()
    for (let round = 0; round < 6; round++) {
      for (const instance of ['one', 'other']) {
        leases.set(instance, ask(server, 'web:1', 80, leases.get(instance), { instance }))
        const out = [...leases.values()].reduce((sum, lease) => sum + (lease?.capacity ?? 0), 0)
        expect(out).toBeLessThanOrEqual(100)
      }
      clock.advance(1_000)
    }
    expect([...leases.values()].map((lease) => lease!.capacity)).toEqual([50, 50])
    expect(notices).toContainEqual({ kind: 'duplicate', clientId: 'web:1', resourceId: 'db' })
    server.releaseCapacity({ clientId: 'web:1', instance: 'one', resourceId: ['db'] })
    clock.advance(1_000)
    expect(ask(server, 'web:1', 80, leases.get('other'), { instance: 'other' })!.capacity).toBeGreaterThanOrEqual(80)
  })

  it.each([
    () => {
      throw new Error('broken')
    },
    async () => {
      throw new Error('broken later')
    },
  ])('are answered though the listener fails', (onNotice) => {
    let told = 0
    const server = serverAt(manualClock(), {
      onNotice: () => {
        told++
        return onNotice()
      },
    })
    expect(server.getCapacity({ clientId: 'c', resource: [{ resourceId: 'a/b/c', priority: 0, wants: 1 }] })).toEqual({
      response: [],
    })
    expect(told).toBe(1)
  })

  it('are no such thing when one has followed the other', () => {
    const clock = manualClock()
    const notices: DoormanServerNotice[] = []
    const server = serverAt(clock, { onNotice: (notice) => notices.push(notice) })
    ask(server, 'web:1', 30, undefined, { instance: 'before' })
    for (let round = 0; round < 20; round++) {
      clock.advance(5_000)
      ask(server, 'web:1', 30, undefined, { instance: 'after' })
    }
    expect(notices).toEqual([])
    expect(server.snapshot().resources[0]).toMatchObject({ clients: 1 })
  })
})

describe('clients that come less often than they are told', () => {
  it.each([11, 16, 29])('every %i s instead of 5: come to equal shares all the same', (every) => {
    const clock = manualClock()
    const server = serverAt(clock, { repository: repositoryOf(1_000), minimumIntervalMs: 1_000 })
    let leases: (Lease | undefined)[] = Array.from({ length: 50 }, () => undefined)
    for (let round = 0; round < 600 / every; round++) {
      leases = leases.map((has, i) => ask(server, `client-${i}`, 80, has))
      clock.advance(every * SECOND_MS)
    }
    const got = leases.map((lease) => lease!.capacity)
    expect(Math.min(...got)).toBeGreaterThan(18)
    expect(Math.max(...got)).toBeLessThan(22)
  })
})

describe('what a client cannot let go', () => {
  it('counts when it comes back without a lease, to a server that knows nothing', () => {
    const clock = manualClock()
    const server = serverAt(clock, { repository: repositoryOf(50) })
    const all = ask(server, 'busy', 50, undefined, { inUse: 40 })!
    expect(all.capacity).toBe(50)
    expect(ask(server, 'other', 50)!.capacity).toBe(0)
    expect(server.snapshot().resources[0]!.sumHeld).toBe(50)
    clock.advance(1_000)
    const lease = ask(server, 'busy', 50, { ...all, capacity: 40 }, { inUse: 40 })!
    expect(lease.capacity).toBe(25)
    expect(ask(server, 'other', 50)!.capacity).toBe(10)
  })

  it('counts for no more than there is', () => {
    const server = serverAt(manualClock(), { repository: repositoryOf(50) })
    ask(server, 'liar', 1, undefined, { inUse: 1e9 })
    expect(server.snapshot().resources[0]!.sumHeld).toBe(50)
  })
})

describe('a client that needs an answer before its time', () => {
  it('gets it when its wants have moved or a request waits, but at most every 0.4 s', () => {
    const clock = manualClock()
    const server = serverAt(clock, { minimumIntervalMs: 5_000, repository: repositoryOf(1_000) })
    ask(server, 'c', 10)
    clock.advance(300)
    expect(ask(server, 'c', 100)).toBeUndefined()
    clock.advance(200)
    expect(ask(server, 'c', 100)?.capacity).toBeCloseTo(110)
    clock.advance(500)
    expect(ask(server, 'c', 110)).toBeUndefined()
    // Another client has taken the rest; now the resource is short, and a request waits.
    ask(server, 'big', 5_000)
    expect(ask(server, 'c', 119, undefined, { waiting: 9 })?.capacity).toBe(110)
    clock.advance(500)
    expect(ask(server, 'c', 119)).toBeUndefined()
  })
})

describe('limits', () => {
  const limits = { idLength: 8, resourcesPerRequest: 3, resourcesPerClient: 4, resources: 6, clients: 8 }

  function asking(clientId: string, ...ids: string[]): GetCapacityRequest {
    return { clientId, resource: ids.map((resourceId) => ({ resourceId, priority: 0, wants: 1 })) }
  }

  it('of one request refuse it by their name, and nothing has changed', () => {
    const server = serverAt(manualClock(), { limits })
    for (const [request, message] of [
      [asking('c', 'a', 'b', 'c', 'd'), 'resource must be at most 3 entries, got 4'],
      [asking('c', 'a', 'x'.repeat(9)), 'resource_id must be at most 8 characters'],
      [asking('c'.repeat(9), 'a'), 'client_id must be at most 8 characters'],
      [asking('c', '\ud800'), 'resource_id must be text without half characters'],
    ] as const)
      expect(() => server.getCapacity(request)).toThrow(message)
    const bands = Array.from({ length: 257 }, () => ({ priority: 0, numClients: 1, wants: 1 }))
    expect(() => server.getServerCapacity({ serverId: 's', resource: [{ resourceId: 'a', wants: bands }] })).toThrow(
      'wants must be at most 256 entries, got 257',
    )
    expect(server.snapshot().resources).toEqual([])
  })

  it('of the node refuse new clients, report it, and serve known ones', () => {
    const notices: DoormanServerNotice[] = []
    const server = serverAt(manualClock(), { limits, onNotice: (notice) => notices.push(notice) })
    const served = (request: GetCapacityRequest): string[] =>
      server.getCapacity(request).response.map(({ resourceId }) => resourceId)
    served(asking('c', 'a', 'b', 'c'))
    expect(served(asking('c', 'a', 'd', 'e'))).toEqual(['a', 'd'])
    expect(notices).toEqual([{ kind: 'full', clientId: 'c', resourceId: 'e', limit: 'resourcesPerClient: 4' }])
    expect(() => server.getCapacity(asking('c', 'f'))).toThrow(
      expect.objectContaining({
        code: 'resource_exhausted',
        message: expect.stringContaining('resourcesPerClient: 4'),
      }),
    )
    expect(served(asking('d', 'e', 'f', 'g'))).toEqual(['e', 'f'])
    expect(() => server.getCapacity(asking('e', 'g'))).toThrow('resources: 6')
    served(asking('e', 'a', 'b'))
    expect(() => server.getCapacity(asking('f', 'a'))).toThrow('clients: 8')
    expect(served(asking('d', 'e', 'f'))).toEqual(['e', 'f'])
    server.releaseCapacity({ clientId: 'e', resourceId: ['a'] })
    expect(served(asking('f', 'a'))).toEqual(['a'])
  })

  it('are checked', () => {
    const one = { limits: { clients: 0 } }
    expect(() => serverAt(manualClock(), one)).toThrow('limits.clients must be an integer >= 1, got 0')
    expect(() => serverAt(manualClock(), { limits: { clients: undefined } as object })).not.toThrow()
  })
})

describe('many clients', () => {
  it('that are gone all at once are let go bit by bit, and then entirely', () => {
    const clock = manualClock()
    const server = serverAt(clock, { repository: repositoryOf(1e6) })
    for (let i = 0; i < 3_500; i++) ask(server, `client-${i}`, 10)
    clock.advance(120_000)
    const left: number[] = []
    for (let i = 0; i < 10; i++) {
      ask(server, 'newcomer', 10)
      clock.advance(1_000)
      left.push(server.snapshot().resources[0]!.clients)
    }
    expect(left[0]).toBeGreaterThan(1)
    expect(left.at(-1)).toBe(1)
  })

  it('of any number of priorities make no more than 64 bands', () => {
    const server = serverAt(manualClock(), { repository: repositoryOf(1_000) })
    for (let i = 0; i < 1_000; i++) ask(server, `client-${i}`, 10, undefined, { priority: -i })
    expect(server.snapshot().resources[0]).toMatchObject({ clients: 1_000, sumWants: 10_000 })
  })

  it('of whom the largest are asked for are not all copied, nor looked at in one go', async () => {
    const rests: (() => void)[] = []
    const after = (_: number, rest: () => void) => {
      rests.push(rest)
      return () => {}
    }
    const server = serverAt(manualClock(), { repository: repositoryOf(1e9), after })
    for (let i = 0; i < 12_000; i++) ask(server, `client-${i}`, 1 + ((i * 7_919) % 12_000))
    let largest: number[] | undefined
    const look = server.largest('db', 3).then((children) => (largest = children.map(({ wants }) => wants)))
    for (const pause of [1, 2]) {
      for (let i = 0; i < 8; i++) await Promise.resolve()
      expect([largest, rests.length]).toEqual([undefined, pause])
      rests.at(-1)!()
    }
    expect(await look).toEqual([12_000, 11_999, 11_998])
    expect(await server.largest('nowhere', 3)).toEqual([])
  })
})

describe('priorities', () => {
  const shares = (repository: ResourceRepository): number[] => {
    const clock = manualClock()
    const server = serverAt(clock, { repository })
    let leases: (Lease | undefined)[] = [undefined, undefined, undefined]
    for (let round = 0; round < 8; round++) {
      leases = leases.map((has, i) => ask(server, `client-${i}`, 80, has, { priority: i === 2 ? 9 : 0 }))
      clock.advance(5_000)
    }
    return leases.map((lease) => Math.round(lease!.capacity))
  }

  it('above 0 count where the configuration says so, and as 0 elsewhere', () => {
    const repository = repositoryOf(120)
    expect(shares(repository)).toEqual([40, 40, 40])
    repository.resources[0]!.algorithm.parameters = [{ name: 'highest_priority', value: '1' }]
    expect(shares(repository)).toEqual([20, 20, 80])
    repository.resources[0]!.algorithm.parameters = [{ name: 'minimum_share:2', value: '0.5' }]
    expect(shares(repository)).toEqual([20, 20, 80])
  })
})
