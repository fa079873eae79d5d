import type {
  GetCapacityRequest,
  GetCapacityResponse,
  GetServerCapacityRequest,
  GetServerCapacityResponse,
} from '@fairlead/core/doorman'
import type { ResourceRepository } from '@fairlead/doorman/server'
import { DoormanNode, limitsFrom, MasterState } from '@fairlead/doorman/server'
import type { Job } from './job.js'
import {
  CAPACITY,
  type Grant,
  LEASE_SECONDS,
  MINIMUM_SECONDS,
  RETRY_SECONDS,
  SAFE_CAPACITY,
  type Server,
  type World,
} from './system.js'
import type { Thread } from './timeline.js'

export const RESOURCE = 'resource0'

/** Longer than any round trip. */
const PATIENCE_SECONDS = 3

/** A task that runs our node, and sends requests to its parent's master like the published ones. */
export class OurServer implements Server, Thread {
  at: number = Number.POSITIVE_INFINITY
  readonly #world: World
  readonly #job: Job<OurServer>
  readonly node: DoormanNode
  readonly address: string
  #parent: OurServer | undefined

  constructor(world: World, job: Job<OurServer>, task: number, repository: ResourceRepository) {
    this.address = `${job.name}/${task}`
    this.#world = world
    this.#job = job
    const isRoot = job.parent === undefined
    const mastership = new MasterState(false, undefined)
    const limits = limitsFrom({})
    const notice = (): void => {}
    const minimumSeconds = MINIMUM_SECONDS
    this.node = new DoormanNode({ id: job.name, repository, isRoot, minimumSeconds, mastership, limits, notice })
    world.timeline.add(this)
  }

  win(now: number, vanishedAt: number | undefined): void {
    if (vanishedAt !== undefined) this.node.mastership.lockVanished(vanishedAt)
    this.node.forget()
    this.node.mastership.won(this.address, vanishedAt !== undefined, now)
  }

  lose(): void {
    this.node.mastership.follows(undefined)
    this.node.forget()
    this.at = Number.POSITIVE_INFINITY
  }

  own(now: number): Grant | undefined {
    if (this.#job.parent === undefined) return { capacity: CAPACITY, expiry: Number.POSITIVE_INFINITY }
    const lease = this.node.lease(RESOURCE, now)
    return lease === undefined ? undefined : { capacity: lease.capacity, expiry: lease.expiryTime }
  }

  getCapacity(request: GetCapacityRequest): GetCapacityResponse {
    const { master } = this.#job
    if (master !== this) this.node.mastership.follows(master?.address)
    const answer = this.node.getCapacity(request, this.#world.timeline.now)
    this.run(this.#world.timeline.now)
    return answer
  }

  getServerCapacity(request: GetServerCapacityRequest): GetServerCapacityResponse {
    const answer = this.node.getServerCapacity(request, this.#world.timeline.now)
    this.run(this.#world.timeline.now)
    return answer
  }

  /** Sends the request to the parent when it is due. */
  run(now: number): void {
    this.at = this.node.askAt(now)
    if (this.at > now) return
    const question = this.node.ask(now)
    if (question === undefined) return
    const parent = this.#master()
    if (parent === undefined) {
      this.node.unanswered(question, now + RETRY_SECONDS)
      this.at = this.node.askAt(now)
      return
    }
    const patience = { over: false }
    this.at = now + PATIENCE_SECONDS
    const { timeline } = this.#world
    this.#world.messages++
    this.#world.network.call(
      () => parent.getServerCapacity(question.request),
      (answer) => {
        if (patience.over) return
        patience.over = true
        if (answer.mastership === undefined) this.node.answered(question, answer, timeline.now)
        else {
          this.#parent = undefined
          this.node.unanswered(question, timeline.now)
        }
        this.run(timeline.now)
      },
    )
    if (patience.over) return
    timeline.after(PATIENCE_SECONDS, () => {
      if (patience.over) return
      patience.over = true
      this.node.unanswered(question, timeline.now)
      this.run(timeline.now)
    })
  }

  /** The parent's master, as known to this task. */
  #master(): OurServer | undefined {
    if (this.#parent !== undefined) return this.#parent
    const parent = this.#job.parent!
    this.#world.chances.discovery.upTo(parent.tasks.length - 1)
    this.#parent = parent.master
    return this.#parent
  }
}

export function ours(refreshInterval: number): ResourceRepository {
  const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength: LEASE_SECONDS, refreshInterval, parameters: [] }
  return { resources: [{ identifierGlob: '*', capacity: CAPACITY, safeCapacity: SAFE_CAPACITY, algorithm }] }
}
