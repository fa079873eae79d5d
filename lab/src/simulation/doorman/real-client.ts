import type { After, Clock } from '@fairlead/core'
import type { CapacityService, RateLease } from '@fairlead/core/doorman'
import { DoormanClient } from '@fairlead/core/doorman'
import type { Job } from './job.js'
import { type OurServer, RESOURCE } from './our-server.js'
import type { Client, World } from './system.js'

/** Longer than any round trip. */
const DEADLINE_MS = 3_000

/**
 * The client of the package: it asks immediately when its wants change by much, and otherwise a little later than due.
 */
export class RealClient implements Client {
  readonly #lease: RateLease
  #wants: number

  constructor(world: World, job: Job<OurServer>, name: string, wants: number) {
    const { timeline, chances } = world
    const clock: Clock = () => timeline.now * 1_000
    const after: After = (ms, fn) => {
      let on = true
      timeline.after(ms / 1_000, () => {
        if (on) fn()
      })
      return () => {
        on = false
      }
    }
    const connect = (address?: string): CapacityService => {
      const any = chances.discovery.upTo(job.tasks.length - 1)
      return overNetwork(world, job.tasks.find((task) => task.address === address) ?? job.tasks[any]!)
    }
    const client = new DoormanClient({
      transport: { connect },
      id: name,
      mode: 'pessimistic',
      deadlineMs: DEADLINE_MS,
      clock,
      wallClock: clock,
      random: () => chances.network.real(),
      after,
    })
    this.#wants = wants
    this.#lease = client.rate(RESOURCE, { wants })
  }

  get wants(): number {
    return this.#wants
  }

  set wants(wants: number) {
    this.#wants = wants
    this.#lease.setWants(wants)
  }

  has(): number {
    return this.#lease.capacity
  }
}

/** A server with delayed or lost answers. */
function overNetwork(world: World, server: OurServer): CapacityService {
  return {
    discovery: () => server.node.discovery(world.timeline.now),
    getCapacity(request) {
      world.messages++
      return new Promise((resolve) => world.network.call(() => server.getCapacity(request), resolve))
    },
    getServerCapacity: () => ({ response: [] }),
    releaseCapacity: () => ({}),
  }
}
