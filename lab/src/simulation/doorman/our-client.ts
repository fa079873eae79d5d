import type { Lease } from '@fairlead/core/doorman'
import type { Job } from './job.js'
import { type OurServer, RESOURCE } from './our-server.js'
import { type Client, MINIMUM_SECONDS, RETRY_SECONDS, type World } from './system.js'
import type { Thread } from './timeline.js'

/** After this time without an answer it asks again. */
const PATIENCE_SECONDS = 3

/** An eager client reports a change of its wants by more than this part of them immediately. */
const EARLY_CHANGE = 0.2

/**
 * A client that asks only when its refresh is due, like the published one. An eager one reports a large change of its
 * wants earlier.
 */
export class OurClient implements Client, Thread {
  at = 0
  readonly name: string
  readonly #world: World
  readonly #job: Job<OurServer>
  #master: OurServer | undefined
  #lease: Lease | undefined
  #question = 0
  #wants: number
  #askedWants = 0
  #askedAt = Number.NEGATIVE_INFINITY
  readonly #eager: boolean

  constructor(world: World, job: Job<OurServer>, name: string, wants: number, eager: boolean) {
    this.#world = world
    this.#eager = eager
    this.#job = job
    this.name = name
    this.#wants = wants
    world.timeline.add(this)
  }

  get wants(): number {
    return this.#wants
  }

  set wants(wants: number) {
    this.#wants = wants
    if (!this.#eager || Math.abs(wants - this.#askedWants) <= EARLY_CHANGE * this.#askedWants) return
    this.at = Math.min(this.at, Math.max(this.#world.timeline.now, this.#askedAt + MINIMUM_SECONDS))
  }

  has(now: number): number {
    return this.#lease !== undefined && this.#lease.expiryTime > now ? this.#lease.capacity : 0
  }

  run(now: number): void {
    if (this.#master === undefined) {
      this.#world.chances.discovery.upTo(this.#job.tasks.length - 1)
      this.#master = this.#job.master
    }
    const master = this.#master
    this.at = now + RETRY_SECONDS
    if (master === undefined) return
    if (this.#lease !== undefined && this.#lease.expiryTime <= now) this.#lease = undefined
    const request = { resourceId: RESOURCE, priority: 0, wants: this.#wants }
    const resource = [this.#lease === undefined ? request : { ...request, has: this.#lease }]
    const question = ++this.#question
    this.#askedWants = this.#wants
    this.#askedAt = now
    this.at = now + PATIENCE_SECONDS
    this.#world.messages++
    this.#world.network.call(
      () => master.getCapacity({ clientId: this.name, resource }),
      (answer) => {
        // A late answer is discarded: the server has been told of a smaller lease meanwhile.
        if (question !== this.#question) return
        this.#question++
        const { now: heardAt } = this.#world.timeline
        if (answer.mastership !== undefined) {
          this.#master = undefined
          this.at = heardAt
          return
        }
        const [response] = answer.response
        if (response === undefined) {
          this.at = heardAt + 1
          return
        }
        this.#lease = response.gets
        this.at = heardAt + response.gets.refreshInterval
      },
    )
  }
}
