import type { Random } from '@fairlead/core'
import {
  type CapacityService,
  DoormanClient,
  type Eventually,
  type GaugeLease,
  type RateLease,
  type Slot,
} from '@fairlead/core/doorman'
import { seededRandom, settled, World } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { DoormanServer } from './index.js'

const SEEDS = process.env['FAIRLEAD_WIDE'] === undefined ? [1] : [1, 2, 3]

const CAPACITY = 60
const CLIENTS = 12
const EPOCH_MS = 1_800_000_000_000

/** One server and its clients, on a network that is slow and loses messages. */
class Fleet {
  readonly world = new World()
  readonly random: Random
  readonly server: DoormanServer
  readonly clients: DoormanClient[]
  /** No message passes. */
  cut = false
  readonly #lossy: boolean

  constructor(seed: number, lossy: boolean) {
    this.random = seededRandom(seed)
    this.#lossy = lossy
    const { clock, after } = this.world
    const wallClock = (): number => EPOCH_MS + clock()
    const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength: 60, refreshInterval: 8, parameters: [] }
    this.server = new DoormanServer({
      id: 'root',
      repository: { resources: [{ identifierGlob: '*', capacity: CAPACITY, safeCapacity: 1, algorithm }] },
      clock,
      wallClock,
      after,
    })
    const transport = { connect: () => this.#network() }
    this.clients = Array.from({ length: CLIENTS }, (_, i) => {
      return new DoormanClient({
        transport,
        id: `c${i}`,
        mode: 'pessimistic',
        clock,
        wallClock,
        after,
        random: this.random,
      })
    })
  }

  /** Advances the time, and calls `look` after each event. */
  async advance(ms: number, look: () => void): Promise<void> {
    const { world } = this
    const untilMs = world.clock() + ms
    for (;;) {
      await settled()
      look()
      const nextMs = Math.min(world.nextMs, untilMs)
      world.stall(Math.max(0, nextMs - world.clock()))
      if (world.nextMs > untilMs) break
      world.ring()
    }
    await settled()
    look()
  }

  #network(): CapacityService {
    const { server } = this
    return {
      discovery: () => this.#pass(() => server.discovery()),
      getCapacity: (request) => this.#pass(() => server.getCapacity(request)),
      getServerCapacity: (request) => this.#pass(() => server.getServerCapacity(request)),
      releaseCapacity: (request) => this.#pass(() => server.releaseCapacity(request)),
    }
  }

  /** The way there and back. */
  #pass<T>(call: () => T): Eventually<T> {
    if (!this.#lossy) {
      if (this.cut) throw new Error('cut')
      return call()
    }
    return this.#message().then(() => {
      const answer = call()
      return this.#message().then(() => answer)
    })
  }

  #message(): Promise<void> {
    if (this.cut || this.random() < 0.05) return new Promise(() => {})
    return new Promise((resolve) => {
      this.world.after(Math.round(this.random()) * 1_000, resolve)
    })
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

describe.each([
  ['a network without faults', false],
  ['0 or 1 s each way and 5 % lost', true],
] as const)('a server and its clients, with %s', (_, lossy) => {
  it.each(SEEDS)('never use more slots than there are, and use them (seed %d)', async (seed) => {
    const fleet = new Fleet(seed, lossy)
    const { random, world } = fleet
    const gauges: GaugeLease[] = fleet.clients.map((client) => client.gauge('g'))
    const held: { slot: Slot; untilMs: number }[] = []
    const demand = gauges.map(() => 2 + Math.floor(10 * random()))
    let most = 0
    const used: number[] = []
    const look = (): void => {
      const inUse = sum(gauges.map(({ inFlight }) => inFlight))
      most = Math.max(most, inUse)
      expect(inUse).toBeLessThanOrEqual(CAPACITY)
    }
    for (let second = 0; second < 600; second++) {
      for (const [i, gauge] of gauges.entries()) {
        if (random() < 0.01) demand[i] = Math.floor(20 * random())
        while (gauge.inFlight + gauge.waiting < demand[i]!)
          gauge.take().then(
            (slot) => held.push({ slot, untilMs: world.clock() + 500 + 5_000 * random() }),
            () => {},
          )
      }
      await fleet.advance(1_000, look)
      for (const { slot, untilMs } of held.splice(0)) {
        if (untilMs <= world.clock()) slot.release()
        else held.push({ slot, untilMs })
      }
      const wanted = Math.min(CAPACITY, sum(gauges.map(({ inFlight, waiting }) => inFlight + waiting)))
      if (second >= 60) used.push(sum(gauges.map(({ inFlight }) => inFlight)) / Math.max(1, wanted))
    }
    expect(most).toBeGreaterThan(0.8 * CAPACITY)
    // Twelve leases leave twelve unusable fractions of a slot: about a tenth of the capacity.
    expect(sum(used) / used.length).toBeGreaterThan(0.75)
    await closed(fleet)
  })

  it.each(SEEDS)('never spend more than there is, and spend it (seed %d)', async (seed) => {
    const fleet = new Fleet(seed, lossy)
    const { random } = fleet
    const rates: RateLease[] = fleet.clients.map((client) => client.rate('r', { smooth: true }))
    const demand = rates.map(() => 10 * random())
    const look = (): void => {
      expect(sum(rates.map(({ capacity }) => capacity))).toBeLessThanOrEqual(CAPACITY + 1e-6)
    }
    const perSecond: number[] = []
    for (let second = 0; second < 600; second++) {
      for (const [i] of rates.entries()) if (random() < 0.01) demand[i] = 20 * random()
      let spent = 0
      for (let tenth = 0; tenth < 10; tenth++) {
        for (const [i, rate] of rates.entries())
          for (let n = Math.floor((demand[i]! / 10) * 2 * random() + random()); n > 0; n--) if (rate.tryTake()) spent++
        await fleet.advance(100, look)
      }
      perSecond.push(spent)
    }
    // Each client's seconds begin at another time, so a second of ours may contain the ends of some and the beginnings
    // of others.
    for (let second = 0; second + 10 <= perSecond.length; second++)
      expect(sum(perSecond.slice(second, second + 10))).toBeLessThanOrEqual(10 * CAPACITY + CAPACITY)
    expect(sum(perSecond)).toBeLessThanOrEqual(600 * CAPACITY)
    expect(sum(perSecond)).toBeGreaterThan(0.75 * sum(demand.map((wants) => wants)))
    await closed(fleet)
  })

  it('come to nothing when the server is gone, and back when it answers', async () => {
    const fleet = new Fleet(1, lossy)
    const rates = fleet.clients.map((client) => client.rate('r', { wants: 10 }))
    const total = (): number => sum(rates.map(({ capacity }) => capacity))
    const look = (): void => expect(total()).toBeLessThanOrEqual(CAPACITY + 1e-6)
    await fleet.advance(60_000, look)
    expect(total()).toBeGreaterThan(0.9 * CAPACITY)
    fleet.cut = true
    await fleet.advance(61_000, look)
    expect(total()).toBe(0)
    fleet.cut = false
    await fleet.advance(180_000, look)
    expect(total()).toBeGreaterThan(0.9 * CAPACITY)
    await closed(fleet)
  })
})

/** After its clients have left, a server has no children. */
async function closed(fleet: Fleet): Promise<void> {
  const all = Promise.all(fleet.clients.map((client) => client.close()))
  await fleet.advance(120_000, () => {})
  await all
}
