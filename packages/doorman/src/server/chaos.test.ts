import { type CapacityService, DoormanClient, type RateLease } from '@fairlead/core/doorman'
import { seededRandom, settled, World } from '@fairlead/core/testing'
import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { DoormanServer } from './index.js'

const EPOCH_MS = 1_800_000_000_000
const CAPACITY = 1_000
/** Time for which the lock of a killed master remains. */
const LOCK_SECONDS = 6
/** Largest error of a client's clock, either way: a server counts a lease for one second longer than it states. */
const SKEW_MS = 500
const LOST = 0.02
/** Runs of each size, and the factor on their length. */
const DEEP = process.env['FAIRLEAD_PROPERTY_RUNS'] === undefined ? 1 : 4

/** A fleet of clients that always want more than there is, and a server. Everything may fail but arithmetic. */
class Chaos {
  readonly world = new World()
  readonly leases: RateLease[]
  readonly #random: () => number
  readonly #refresh: number
  readonly #lease: number
  readonly #cutOff = new Set<number>()
  #server: DoormanServer | undefined
  #serverOffMs = 0
  capacity = CAPACITY
  /** Configured capacities, and the time until which clients may still use them. */
  readonly #promises: { capacity: number; untilMs: number }[] = []
  /** The last fault, and the last change of the configuration. */
  #faultMs: number
  #cutMs = Number.NEGATIVE_INFINITY
  readonly steady: number[] = []
  readonly throughCuts: number[] = []
  most = 0

  constructor(clients: number, refresh: number, seed: number) {
    this.#random = seededRandom(seed)
    this.#refresh = refresh
    this.#lease = 5 * refresh
    this.#elect(true)
    this.#faultMs = this.#lease * 1_000
    const { clock, after } = this.world
    this.leases = Array.from({ length: clients }, (_, i) => {
      const offMs = (2 * this.#random() - 1) * SKEW_MS
      const client = new DoormanClient({
        transport: { connect: () => this.#network(i) },
        id: `client-${i}`,
        mode: 'pessimistic',
        clock,
        wallClock: () => EPOCH_MS + clock() + offMs,
        after,
        random: this.#random,
      })
      return client.rate('db', { wants: ((5 + ((i * 37) % 50)) * 2 * CAPACITY) / (29.5 * clients) })
    })
  }

  /** Kills the server. Another one is elected when the lock has expired, and starts with empty state. */
  async kill(): Promise<void> {
    this.#faultMs = Number.POSITIVE_INFINITY
    this.#server = undefined
    await this.pass(LOCK_SECONDS * (0.5 + this.#random()))
    this.#elect(false)
    // Until it has heard from all, and clients that found no server have come back.
    this.#faultMs = this.world.clock() + this.#lease * 1_000
  }

  /** Cuts some clients off, for a while or until their leases have ended. */
  async partition(seconds: number): Promise<void> {
    this.#faultMs = Number.POSITIVE_INFINITY
    for (const i of this.leases.keys()) if (this.#random() < 0.3) this.#cutOff.add(i)
    await this.pass(seconds)
    this.#cutOff.clear()
    this.#faultMs = this.world.clock() + this.#lease * 1_000
  }

  /** Sets the clock of the server's machine. */
  skew(): void {
    this.#serverOffMs = (2 * this.#random() - 1) * SKEW_MS
    this.#faultMs = this.world.clock() + this.#lease * 1_000
  }

  configure(capacity: number): void {
    this.#promises.push({ capacity: this.capacity, untilMs: this.world.clock() + (this.#lease + 2) * 1_000 })
    this.#cutMs = this.world.clock()
    if (capacity > this.capacity) this.#faultMs = this.#cutMs + this.#lease * 1_000
    this.capacity = capacity
    this.#server?.configure(this.#repository())
  }

  /** Advances the time, and checks the sum of all capacities five times a second. */
  async pass(seconds: number): Promise<void> {
    const { world } = this
    for (let step = 0; step < seconds * 20; step++) {
      // Timers fire a little late, all together.
      world.stall(50)
      world.ring()
      await settled()
      if (step % 4 === 0) this.#look()
    }
  }

  #look(): void {
    const nowMs = this.world.clock()
    const sum = this.leases.reduce((all, { capacity }) => all + capacity, 0)
    const promised = this.#promises.filter(({ untilMs }) => untilMs > nowMs).map(({ capacity }) => capacity)
    const most = Math.max(this.capacity, ...promised)
    this.most = Math.max(this.most, sum / most)
    if (nowMs < this.#faultMs + 2 * this.#refresh * 1_000) return
    const sinceMs = nowMs - this.#cutMs
    if (sinceMs > 1_000 * this.#lease) this.steady.push(sum / this.capacity)
    else this.throughCuts.push(sum / this.capacity)
    if (sinceMs > 3_000 * this.#refresh) this.most = Math.max(this.most, sum / this.capacity)
  }

  #repository() {
    const algorithm = {
      kind: 'FAIR_SHARE' as const,
      leaseLength: this.#lease,
      refreshInterval: this.#refresh,
      parameters: [],
    }
    return { resources: [{ identifierGlob: '*', capacity: this.capacity, safeCapacity: 0, algorithm }] }
  }

  #elect(afterNobody: boolean): void {
    const { clock, after } = this.world
    this.#server = new DoormanServer({
      id: 'server',
      repository: this.#repository(),
      elected: true,
      minimumIntervalMs: 1_000,
      clock,
      wallClock: () => EPOCH_MS + clock() + this.#serverOffMs,
      after,
    })
    this.#server.won({ afterNobody })
  }

  /** Messages take up to 100 ms, and some are lost, in either direction. */
  #network(client: number): CapacityService {
    const way = async (): Promise<void> => {
      if (this.#cutOff.has(client) || this.#random() < LOST / 2) throw new Error('lost')
      await new Promise<void>((resolve) => this.world.after(Math.ceil(100 * this.#random()), resolve))
    }
    const pass = async <T>(call: (server: DoormanServer) => T): Promise<T> => {
      await way()
      if (this.#server === undefined) throw new Error('nobody there')
      const answer = call(this.#server)
      await way()
      return answer
    }
    return {
      discovery: () => pass((server) => server.discovery()),
      getCapacity: (request) => pass((server) => server.getCapacity(request)),
      getServerCapacity: (request) => pass((server) => server.getServerCapacity(request)),
      releaseCapacity: (request) => pass((server) => server.releaseCapacity(request)),
    }
  }
}

const least = (values: readonly number[]): number => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)

describe('kills, partitions, clocks set wrong, lost messages and cut after cut', () => {
  it.each(
    [
      [50, 4, 6],
      [byWidth(300, 1_000), 8, 1],
    ].flatMap(([clients, refresh, rounds]) =>
      Array.from({ length: DEEP }, (_, seed) => [clients!, refresh!, rounds! * DEEP, seed + 1] as const),
    ),
  )(
    '%i clients, refresh %i s, %i rounds, seed %i: never above what is promised, and what there is in use',
    async (clients, refresh, rounds, seed) => {
      const chaos = new Chaos(clients, refresh, seed)
      const random = seededRandom(1_000 + seed)
      await chaos.pass(10 * refresh)
      for (let round = 0; round < rounds; round++) {
        const fault = Math.floor(random() * 4)
        if (fault === 0) await chaos.kill()
        else if (fault === 1) await chaos.partition(refresh * (1 + random()))
        else if (fault === 2) await chaos.partition(refresh * 7)
        else chaos.skew()
        await chaos.pass(8 * refresh)
        // One after the other, before the last has taken effect everywhere.
        for (let cut = 0; cut < 3; cut++) {
          chaos.configure(chaos.capacity * (0.6 + 0.35 * random()))
          await chaos.pass(refresh * (1 + 2 * random()))
        }
        await chaos.pass(6 * refresh)
        chaos.configure(CAPACITY)
        await chaos.pass(6 * refresh)
      }
      const { most, steady, throughCuts } = chaos
      expect(most, 'most in use, as a part of what may be').toBeLessThanOrEqual(1 + 1e-9)
      expect(least(throughCuts), 'least in use while it is cut').toBeGreaterThanOrEqual(0.95)
      expect(least(steady), 'least in use while nothing happens').toBeGreaterThanOrEqual(0.97)
      expect(Math.min(throughCuts.length, steady.length), 'looks').toBeGreaterThan(50)
    },
    600_000,
  )
})
