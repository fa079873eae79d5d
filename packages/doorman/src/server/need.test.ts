import { createGate, type Gate } from '@fairlead/core'
import { type CapacityService, DoormanClient, type GaugeLease, type GetCapacityRequest } from '@fairlead/core/doorman'
import { requestQueue } from '@fairlead/core/queue'
import { seededRandom, settled, World } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { DoormanServer } from './index.js'

const CAPACITY = 50
const EPOCH_MS = 1_800_000_000_000

/** A process: a gate whose queue drains into its share of the slots. */
interface Member {
  readonly client: DoormanClient
  readonly gauge: GaugeLease
  readonly gate: Gate
}

/** Processes that share slots through a server with default options, which may be unavailable. */
class Fleet {
  readonly world = new World()
  readonly members: Member[]
  readonly asked: { atMs: number; request: GetCapacityRequest }[] = []
  server: DoormanServer
  isAway = false
  most = 0

  constructor(count: number) {
    const { clock, after } = this.world
    this.server = this.#elect(true)
    const random = seededRandom(3)
    this.members = Array.from({ length: count }, (_, i) => {
      const transport = { connect: () => this.#service() }
      const wallClock = (): number => EPOCH_MS + clock()
      const client = new DoormanClient({
        ...{ transport, id: `process-${i}`, mode: 'pessimistic', clock, wallClock, after, random },
      })
      const gauge = client.gauge('slots')
      const gate = createGate({
        fair: false,
        queue: requestQueue({ concurrency: gauge, maxWaitMs: 600_000 }),
        clock,
        after,
      })
      return { client, gauge, gate }
    })
  }

  /** Requests arrive, and run for `runMs` once they have a slot. */
  load(member: number, count: number, runMs: number): void {
    const { gate } = this.members[member]!
    for (let i = 0; i < count; i++)
      void Promise.resolve(gate.admit({ flow: `flow-${i % 7}` })).then((decision) => {
        if (decision.admitted) this.world.after(runMs, () => decision.finish('success'))
      })
  }

  inFlight(member: number): number {
    return this.members[member]!.gauge.inFlight
  }

  /** Replaces the server by another one with empty state. */
  replace(afterNobody: boolean): void {
    this.server = this.#elect(afterNobody)
  }

  async advance(ms: number): Promise<void> {
    const { world } = this
    const untilMs = world.clock() + ms
    for (;;) {
      await settled()
      this.most = Math.max(
        this.most,
        this.members.reduce((sum, { gauge }) => sum + gauge.inFlight, 0),
      )
      world.stall(Math.max(0, Math.min(world.nextMs, untilMs) - world.clock()))
      if (world.nextMs > untilMs) return
      world.ring()
    }
  }

  /** Time until `is` is true, in milliseconds; at most a minute. */
  async until(is: () => boolean): Promise<number> {
    const startMs = this.world.clock()
    while (!is() && this.world.clock() - startMs < 60_000) await this.advance(20)
    return this.world.clock() - startMs
  }

  #elect(afterNobody: boolean): DoormanServer {
    const { clock, after } = this.world
    const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength: 12, refreshInterval: 5, parameters: [] }
    const repository = { resources: [{ identifierGlob: '*', capacity: CAPACITY, safeCapacity: 0, algorithm }] }
    const server = new DoormanServer({
      ...{ id: 'server', repository, elected: true, clock, wallClock: () => EPOCH_MS + clock(), after },
    })
    server.won({ afterNobody })
    return server
  }

  #service(): CapacityService {
    const pass = async <T>(call: () => T | Promise<T>): Promise<T> => {
      await new Promise<void>((resolve) => this.world.after(5, resolve))
      if (this.isAway) throw new Error('nobody there')
      return call()
    }
    return {
      discovery: () => pass(() => this.server.discovery()),
      getCapacity: (request) => {
        this.asked.push({ atMs: this.world.clock(), request })
        return pass(() => this.server.getCapacity(request))
      },
      getServerCapacity: (request) => pass(() => this.server.getServerCapacity(request)),
      releaseCapacity: (request) => pass(() => this.server.releaseCapacity(request)),
    }
  }
}

describe('two processes that share slots', () => {
  it('use those of an idle neighbour within two seconds, from a cold start', async () => {
    const fleet = new Fleet(2)
    await fleet.advance(500)
    fleet.load(0, 100, 30_000)
    expect(await fleet.until(() => fleet.inFlight(0) >= CAPACITY - 2)).toBeLessThan(2_000)
  })

  it.each([0, 7_300])('use those that a neighbour needs no more since %i ms', async (sinceMs) => {
    const fleet = new Fleet(2)
    await fleet.advance(500)
    for (let second = 0; second < 20; second++) {
      fleet.load(1, 50, 900)
      if (second > 10) fleet.load(0, 50, 900)
      await fleet.advance(1_000)
    }
    await fleet.until(() => fleet.inFlight(0) + fleet.inFlight(1) === 0)
    await fleet.advance(sinceMs)
    fleet.load(0, 100, 60_000)
    expect(await fleet.until(() => fleet.inFlight(0) >= CAPACITY - 2)).toBeLessThan(2_000)
    expect(fleet.most).toBeLessThanOrEqual(CAPACITY)
  })

  it.each([10, 30, 45, 70])('use those of a neighbour whose requests ended one by one, each %i ms', async (everyMs) => {
    const fleet = new Fleet(2)
    await fleet.advance(500)
    fleet.load(1, 50, 900)
    await fleet.advance(1_000)
    for (let i = 0; i < 40; i++) fleet.load(1, 1, 300 + i * everyMs)
    await fleet.until(() => fleet.inFlight(1) === 0)
    fleet.load(0, 100, 60_000)
    expect(await fleet.until(() => fleet.inFlight(0) >= CAPACITY - 2)).toBeLessThan(2_000)
  })

  it('come to equal shares while both are short, within a refresh interval and a second', async () => {
    const fleet = new Fleet(2)
    await fleet.advance(500)
    fleet.load(0, 5_000, 200)
    await fleet.advance(6_000)
    fleet.load(1, 5_000, 200)
    expect(await fleet.until(() => fleet.inFlight(1) >= CAPACITY / 2)).toBeLessThan(7_000)
    expect(fleet.most).toBeLessThanOrEqual(CAPACITY)
  })

  it('ask at most twice a second each, for any load', async () => {
    const fleet = new Fleet(2)
    for (let second = 0; second < 40; second++) {
      fleet.load(second % 2, 1 + ((second * 37) % 90), 700)
      await fleet.advance(1_000)
    }
    for (const { client } of fleet.members) {
      const times = fleet.asked.filter(({ request }) => request.clientId === client.id).map(({ atMs }) => atMs)
      for (let i = 2; i < times.length; i++) expect(times[i]! - times[i - 2]!).toBeGreaterThanOrEqual(1_000)
    }
  })
})

describe('after an outage', () => {
  it.each([16_000, 130_000])(
    'of %i ms, requests that wait have slots three seconds after the server is back',
    async (awayMs) => {
      const fleet = new Fleet(2)
      await fleet.advance(2_000)
      fleet.isAway = true
      await fleet.advance(awayMs - 3_000)
      for (const member of [0, 1]) fleet.load(member, 20, 30_000)
      await fleet.advance(3_000)
      fleet.replace(true)
      fleet.isAway = false
      expect(await fleet.until(() => fleet.inFlight(0) > 0 && fleet.inFlight(1) > 0)).toBeLessThan(3_000)
    },
  )

  it('those who need nothing do not ask for more often than once a minute', async () => {
    const fleet = new Fleet(1)
    await fleet.advance(2_000)
    fleet.isAway = true
    await fleet.advance(300_000)
    const before = fleet.asked.length
    await fleet.advance(300_000)
    expect(fleet.asked.length - before).toBeLessThanOrEqual(6)
  })

  it('a client tells how much is still in use, and the server counts it', async () => {
    const fleet = new Fleet(2)
    await fleet.advance(500)
    fleet.load(0, 40, 120_000)
    await fleet.until(() => fleet.inFlight(0) === 40)
    fleet.isAway = true
    await fleet.advance(20_000)
    expect(fleet.members[0]!.gauge.capacity).toBe(0)
    fleet.replace(false)
    fleet.isAway = false
    fleet.load(1, 100, 120_000)
    await fleet.advance(60_000)
    expect([fleet.inFlight(0), fleet.inFlight(1)]).toEqual([40, 10])
    expect(fleet.most).toBe(CAPACITY)
  })
})

describe('refresh', () => {
  /** As on Workers: everything that a request began ends with it, timers included. */
  function worker() {
    const fleet = new Fleet(0)
    const { clock } = fleet.world
    let calls = 0
    let hangs = false
    const service: CapacityService = {
      discovery: () => fleet.server.discovery(),
      getServerCapacity: (request) => fleet.server.getServerCapacity(request),
      releaseCapacity: (request) => fleet.server.releaseCapacity(request),
      getCapacity(request) {
        calls++
        return hangs ? new Promise<never>(() => {}) : fleet.server.getCapacity(request)
      },
    }
    const client = new DoormanClient({
      transport: { connect: () => service },
      mode: 'pessimistic',
      clock,
      wallClock: () => EPOCH_MS + clock(),
      after: () => () => {},
    })
    const gauge = client.gauge('slots', { wants: 10 })
    return { client, gauge, clock, calls: () => calls, hang: (on: boolean) => (hangs = on) }
  }

  it('keeps a lease alive without any timer, from request to request', async () => {
    const { client, gauge, clock, calls } = worker()
    for (let second = 0; second < 180; second++) {
      await client.refresh()
      expect(gauge.capacity, `after ${second} s`).toBeGreaterThanOrEqual(10)
      clock.advance(1_000)
    }
    expect(calls()).toBeLessThan(50)
    clock.advance(60_000)
    expect(gauge.capacity).toBe(0)
    await client.refresh()
    expect(gauge.capacity).toBeGreaterThanOrEqual(10)
  })

  it('does not wait for a question that died with its request', async () => {
    const { client, gauge, clock, hang } = worker()
    await client.refresh()
    hang(true)
    clock.advance(6_000)
    void client.refresh()
    await settled()
    hang(false)
    // It may still be answered.
    await client.refresh()
    clock.advance(7_000)
    expect(gauge.capacity).toBe(0)
    await client.refresh()
    expect(gauge.capacity).toBeGreaterThanOrEqual(10)
  })
})
