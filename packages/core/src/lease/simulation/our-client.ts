import type { Lease } from '../protocol.js'
import type { Job } from './job.js'
import { type OurServer, RESOURCE } from './our-server.js'
import { type Client, RETRY_SECONDS, type World } from './system.js'
import type { Thread } from './timeline.js'

/** After that long without an answer it asks again. */
const PATIENCE_SECONDS = 3

/** A client that asks when its refresh is due, and not before: as much as the published one knows and does. */
export class OurClient implements Client, Thread {
  at = 0
  wants: number
  readonly name: string
  readonly #world: World
  readonly #job: Job<OurServer>
  #master: OurServer | undefined
  #lease: Lease | undefined
  #question = 0

  constructor(world: World, job: Job<OurServer>, name: string, wants: number) {
    this.#world = world
    this.#job = job
    this.name = name
    this.wants = wants
    world.timeline.add(this)
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
    if (this.has(now) === 0 && this.#lease !== undefined && this.#lease.expiryTime <= now) this.#lease = undefined
    const request = { resourceId: RESOURCE, priority: 0, wants: this.wants }
    const resource = [this.#lease === undefined ? request : { ...request, has: this.#lease }]
    const question = ++this.#question
    this.at = now + PATIENCE_SECONDS
    this.#world.messages++
    this.#world.network.call(
      () => master.getCapacity({ clientId: this.name, resource }),
      (answer) => {
        // What comes too late is not believed: the server has been told of a smaller lease meanwhile.
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
