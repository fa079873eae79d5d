import type { After } from '@fairlead/core'
import {
  type CapacityService,
  type GetServerCapacityRequest,
  type GetServerCapacityResponse,
  inProcess,
  type Lease,
} from '@fairlead/core/doorman'
import { manualClock } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { DoormanServer, type DoormanServerOptions } from './doorman-server.js'
import type { ResourceRepository } from './repository.js'

const EPOCH_MS = 1_700_000_000_000
const EPOCH = EPOCH_MS / 1_000

/** A clock whose timers run when it is advanced. */
function world() {
  const clock = manualClock()
  let timers: { atMs: number; fn: () => void }[] = []
  const after: After = (ms, fn) => {
    const timer = { atMs: clock() + ms, fn }
    timers.push(timer)
    return () => {
      timers = timers.filter((each) => each !== timer)
    }
  }
  return {
    seams: { clock, wallClock: () => EPOCH_MS + clock(), after },
    get timers() {
      return timers.length
    },
    async pass(seconds: number): Promise<void> {
      for (let left = seconds * 10; left > 0; left--) {
        clock.advance(100)
        for (const timer of timers.filter(({ atMs }) => atMs <= clock())) {
          timers = timers.filter((each) => each !== timer)
          timer.fn()
        }
        await settled()
      }
    },
  }
}

/** Lets the callbacks of settled promises run. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

function repository(capacity: number): ResourceRepository {
  const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength: 60, refreshInterval: 8, parameters: [] }
  return { resources: [{ identifierGlob: '*', capacity, safeCapacity: 3, algorithm }] }
}

function serverOf(options: Partial<DoormanServerOptions>): DoormanServer {
  return new DoormanServer({ id: 'n', repository: repository(100), minimumIntervalMs: 2_000, ...options })
}

function ask(server: DoormanServer, wants: number, has?: Lease): Lease | undefined {
  const request = { resourceId: 'r', priority: 0, wants, ...(has === undefined ? {} : { has }) }
  return server.getCapacity({ clientId: 'c', resource: [request] }).response[0]?.gets
}

describe('DoormanServer', () => {
  it('counts seconds since the epoch, by the wall clock as it is corrected', async () => {
    const { seams, pass } = world()
    let setMs = 0
    const server = serverOf({ ...seams, wallClock: () => seams.wallClock() + setMs })
    expect(ask(server, 10)).toEqual({ capacity: 11, expiryTime: EPOCH + 60, refreshInterval: 8 })
    // Corrections of the wall clock move the ends of leases, and nothing else.
    setMs = 3_600_000
    await pass(8)
    expect(ask(server, 10)!.expiryTime).toBe(EPOCH + 3_600 + 68)
  })

  it('starts nothing when it is made', () => {
    const { seams } = world()
    let calls = 0
    const parent = { connect: () => serverOf(seams) }
    serverOf({ ...seams, parent, after: () => () => calls++ })
    expect(calls).toBe(0)
  })

  it('grants the capacity of its parent, refreshes more often, and stops asking without wants', async () => {
    const { seams, pass, ...rest } = world()
    const root = serverOf({ ...seams, id: 'root' })
    const leaf = serverOf({ ...seams, id: 'leaf', repository: repository(1e9), parent: inProcess(root) })
    // Before the parent's answer there is nothing to grant.
    expect(ask(leaf, 40)).toEqual({ capacity: 0, expiryTime: EPOCH, refreshInterval: 2 })
    await settled()
    await pass(2)
    const lease = ask(leaf, 40)!
    expect(lease.capacity).toBeGreaterThanOrEqual(40)
    expect(lease.refreshInterval).toBe(4)
    expect(lease.expiryTime).toBeLessThanOrEqual(root.snapshot().resources[0]!.children[0]!.expiryTime)
    expect(root.snapshot().resources[0]!.children).toMatchObject([{ id: 'leaf', kind: 'server', wants: 40 }])
    expect(leaf.snapshot().resources[0]!.lease!.capacity).toBeGreaterThanOrEqual(40)
    leaf.releaseCapacity({ clientId: 'c', resourceId: ['r'] })
    await pass(20)
    expect(root.snapshot().resources[0]!.sumHeld).toBe(0)
    expect(rest.timers).toBe(0)
  })

  it('goes to the master that another server names', async () => {
    const { seams, pass } = world()
    const root = serverOf({ ...seams, id: 'root', address: 'b' })
    const follower = serverOf({ ...seams, id: 'root', elected: true })
    follower.lost('b')
    const asked: (string | undefined)[] = []
    const connect = (address?: string): CapacityService => {
      asked.push(address)
      return address === 'b' ? root : follower
    }
    const leaf = serverOf({ ...seams, parent: { connect } })
    ask(leaf, 40)
    await pass(3)
    expect(ask(leaf, 40)!.capacity).toBeGreaterThanOrEqual(40)
    expect(asked).toEqual([undefined, 'b'])
  })

  it('gives out its lease to the end while the parent is silent, then nothing but the safe capacity', async () => {
    const { seams, pass } = world()
    const root = serverOf({ ...seams, id: 'root' })
    let answers = true
    let tries = 0
    const getServerCapacity = (request: GetServerCapacityRequest): GetServerCapacityResponse | Promise<never> => {
      tries++
      return answers ? root.getServerCapacity(request) : new Promise<never>(() => {})
    }
    const parent = inProcess({ ...methods(root), getServerCapacity })
    const leaf = serverOf({ ...seams, parent })
    ask(leaf, 40)
    await pass(3)
    answers = false
    const last = ask(leaf, 40)!
    await pass(30)
    const later = ask(leaf, 40, last)!
    expect(later.capacity).toBeGreaterThanOrEqual(40)
    // A grant never outlasts the leaf's own lease.
    expect(later.expiryTime).toBeLessThanOrEqual(leaf.snapshot().resources[0]!.lease!.expiryTime)
    expect(leaf.snapshot().parentError).toBe('CapacityError: no answer in 5000 ms')
    await pass(60)
    expect(ask(leaf, 40)).toMatchObject({ capacity: 0 })
    expect(leaf.snapshot().resources[0]!.safeCapacity).toBe(3)
    // A question is abandoned after 5 s, and repeated 2 s later.
    expect(tries).toBeLessThanOrEqual(2 + 93 / 7)
    answers = true
    await pass(8)
    // The parent learns of the clients that ask now: a silent client counts with the amount it holds.
    ask(leaf, 40)
    await pass(4)
    expect(ask(leaf, 40)!.capacity).toBeGreaterThanOrEqual(40)
    expect(leaf.snapshot().parentError).toBeUndefined()
  })

  it('takes over the lease of its predecessor, and keeps what was handed out', async () => {
    const { seams, pass } = world()
    const root = serverOf({ ...seams, id: 'root' })
    const first = serverOf({ ...seams, id: 'leaf', parent: inProcess(root) })
    ask(first, 40)
    await pass(3)
    const lease = ask(first, 40)!
    first.close()
    const second = serverOf({ ...seams, id: 'leaf', parent: inProcess(root), elected: true })
    second.lockVanished()
    second.won()
    expect(ask(second, 40, lease)).toMatchObject({ capacity: lease.capacity, expiryTime: lease.expiryTime })
    await pass(3)
    expect(ask(second, 40, lease)!.capacity).toBeGreaterThanOrEqual(40)
    expect(root.snapshot().resources[0]!.children).toHaveLength(1)
  })

  it('stops when it is closed', async () => {
    const { seams, pass, ...rest } = world()
    const leaf = serverOf({ ...seams, parent: inProcess(serverOf({ ...seams, id: 'root' })) })
    ask(leaf, 40)
    await settled()
    leaf.close()
    await pass(10)
    expect(rest.timers).toBe(0)
  })

  it('grants while its lock holds, counted from the renewal', async () => {
    const { seams, pass } = world()
    const server = serverOf({ ...seams, elected: true, address: 'a' })
    expect(server.discovery()).toEqual({ mastership: {}, isMaster: false })
    server.won({ afterNobody: true })
    server.lockHolds(10_000, seams.clock())
    expect(ask(server, 10)!.capacity).toBe(11)
    await pass(9)
    expect(server.discovery().isMaster).toBe(true)
    await pass(1)
    expect(server.discovery()).toEqual({ mastership: {}, isMaster: false })
    server.lost('b')
    expect(server.discovery()).toEqual({ mastership: { masterAddress: 'b' }, isMaster: false })
    expect(server.snapshot().resources).toEqual([])
  })

  it.each<[object, string]>([
    [{ id: '' }, 'id must be a non-empty string, got ""'],
    [{ minimumIntervalMs: -1 }, 'minimumIntervalMs must be a number >= 0, got -1'],
    [{ deadlineMs: 0 }, 'deadlineMs must be a number > 0, got 0'],
    [{ clock: 5 }, 'clock must be a function, got 5'],
    [{ adress: 'a' }, 'options has no option "adress"'],
    [{ repository: { resources: [] } }, 'must contain an entry for "*"'],
  ])('checks its options: %j', (options, message) => {
    expect(() => serverOf(options)).toThrow(message)
  })
})

function methods(server: DoormanServer): CapacityService {
  return {
    discovery: () => server.discovery(),
    getCapacity: (request) => server.getCapacity(request),
    getServerCapacity: (request) => server.getServerCapacity(request),
    releaseCapacity: (request) => server.releaseCapacity(request),
  }
}
