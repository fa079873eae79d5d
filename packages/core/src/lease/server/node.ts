import type {
  DiscoveryResponse,
  GetCapacityRequest,
  GetCapacityResponse,
  GetServerCapacityRequest,
  GetServerCapacityResponse,
  Lease,
  ReleaseCapacityRequest,
  ReleaseCapacityResponse,
} from '../protocol.js'
import { requireGetCapacity, requireGetServerCapacity, requireReleaseCapacity } from './bad-request.js'
import type { Mastership } from './mastership.js'
import { Templates } from './repository.js'
import { Resource } from './resource.js'
import { type NodeSnapshot, snapshotOf } from './snapshot.js'
import type { ResourceRepository } from './template.js'

/** How often resources are looked through for those that nobody uses any more. */
const SWEEP_SECONDS = 60

export interface LeaseNodeSettings {
  /** The name of the node in the tree, the same for all tasks that may be its master. */
  id: string
  repository: ResourceRepository
  /** False: capacity comes from a parent. */
  isRoot: boolean
  /** A child that asks again sooner is not answered; 0 answers always. Never more than the level's refresh interval. */
  minimumSeconds: number
  mastership: Mastership
}

/** A question to the parent, to be answered or given up before the next one. */
export interface Question {
  readonly request: GetServerCapacityRequest
}

/**
 * A node in the tree of servers: divides the capacity of resources among the clients and servers that ask it. Pure:
 * time is handed in as seconds since the epoch, who is master comes from outside, and so do the parent's answers.
 */
export class LeaseNode {
  readonly id: string
  readonly mastership: Mastership
  readonly #isRoot: boolean
  readonly #minimumSeconds: number
  readonly #resources = new Map<string, Resource>()
  #templates: Templates
  #question: Question | undefined
  #sweptAt = 0
  /** Not after the earliest time at which a resource wants the parent to be asked. */
  #askAt = Number.POSITIVE_INFINITY

  /** Throws a `RangeError` or `TypeError` when the repository is wrong. */
  constructor({ id, repository, isRoot, minimumSeconds, mastership }: LeaseNodeSettings) {
    this.id = id
    this.mastership = mastership
    this.#isRoot = isRoot
    this.#minimumSeconds = minimumSeconds
    this.#templates = new Templates(repository)
  }

  discovery(now: number): DiscoveryResponse {
    return { mastership: this.mastership.answer(now), isMaster: this.mastership.isMaster(now) }
  }

  /** Throws a `CapacityError` on a bad request, and changes nothing. */
  getCapacity(request: GetCapacityRequest, now: number): GetCapacityResponse {
    requireGetCapacity(request)
    if (!this.mastership.isMaster(now)) return { response: [], mastership: this.mastership.answer(now) }
    const answer: GetCapacityResponse = { response: [] }
    for (const each of request.resource) {
      const resource = this.#resource(each.resourceId, now)
      const gets = resource?.decideClient(request.clientId, each, now)
      if (resource === undefined || gets === undefined) continue
      this.#mayAsk(resource)
      answer.response.push({ resourceId: each.resourceId, gets, safeCapacity: resource.safeCapacity })
    }
    return answer
  }

  /** Throws a `CapacityError` on a bad request, and changes nothing. */
  getServerCapacity(request: GetServerCapacityRequest, now: number): GetServerCapacityResponse {
    requireGetServerCapacity(request)
    if (!this.mastership.isMaster(now)) return { response: [], mastership: this.mastership.answer(now) }
    const answer: GetServerCapacityResponse = { response: [] }
    for (const each of request.resource) {
      const resource = this.#resource(each.resourceId, now)
      const response = resource?.decideServer(request.serverId, each, now)
      if (resource === undefined || response === undefined) continue
      this.#mayAsk(resource)
      answer.response.push(response)
    }
    return answer
  }

  /** Throws a `CapacityError` on a bad request, and changes nothing. */
  releaseCapacity(request: ReleaseCapacityRequest, now: number): ReleaseCapacityResponse {
    requireReleaseCapacity(request)
    if (!this.mastership.isMaster(now)) return { mastership: this.mastership.answer(now) }
    for (const id of request.resourceId) {
      const resource = this.#resources.get(id)
      resource?.release(request.clientId, now)
      if (resource !== undefined) this.#mayAsk(resource)
    }
    return {}
  }

  /** Another configuration, from the next request on. Throws when it is wrong; the old one then stays. */
  configure(repository: ResourceRepository): void {
    this.#templates = new Templates(repository)
    for (const [id, resource] of this.#resources) {
      const template = this.#templates.find(id)
      if (template === undefined) this.#resources.delete(id)
      else if (template !== resource.template) resource.configure(template)
    }
  }

  /** Mastership has begun, or ended: everything is forgotten. */
  forget(): void {
    this.#resources.clear()
    this.#question = undefined
    this.#askAt = Number.POSITIVE_INFINITY
  }

  /** When the parent should be asked; infinite while there is nothing to ask, or no answer yet. */
  askAt(now: number): number {
    if (this.#isRoot || this.#question !== undefined || !this.mastership.isMaster(now)) return Number.POSITIVE_INFINITY
    return this.#askAt
  }

  /** A question to the parent about all that is due; it makes promises, so it must be sent, or given up. */
  ask(now: number): Question | undefined {
    if (this.askAt(now) > now) return undefined
    const due = [...this.#resources.values()].filter(({ upstream }) => upstream!.nextAt <= now)
    const resource = due.map((each) => each.ask(now, this.#minimumSeconds))
    this.#lookWhenToAsk()
    if (resource.length === 0) return undefined
    this.#question = { request: { serverId: this.id, resource } }
    return this.#question
  }

  /** The parent has answered. An answer to a question that was given up is passed over. */
  answered(question: Question, answer: GetServerCapacityResponse, now: number): void {
    if (question !== this.#question) return
    this.#question = undefined
    const answers = new Map(answer.response.map((response) => [response.resourceId, response]))
    for (const { resourceId } of question.request.resource) {
      const resource = this.#resources.get(resourceId)
      const response = answers.get(resourceId)
      if (response === undefined) resource?.upstream?.unanswered(now)
      else resource?.answered(response, now)
    }
    this.#lookWhenToAsk()
  }

  /** There will be no answer; ask again at `againAt`. */
  unanswered(question: Question, againAt: number): void {
    if (question !== this.#question) return
    this.#question = undefined
    for (const { resourceId } of question.request.resource)
      this.#resources.get(resourceId)?.upstream?.unanswered(againAt)
    this.#lookWhenToAsk()
  }

  /** The node's own lease of a resource from its parent, while it is good. */
  lease(resourceId: string, now: number): Lease | undefined {
    return this.#resources.get(resourceId)?.upstream?.lease(now)
  }

  /** What people and pages want to see. */
  snapshot(now: number): NodeSnapshot {
    return snapshotOf(this, this.#resources.values(), this.#templates.all, now)
  }

  #mayAsk({ upstream }: Resource): void {
    if (upstream !== undefined) this.#askAt = Math.min(this.#askAt, upstream.nextAt)
  }

  #lookWhenToAsk(): void {
    this.#askAt = Number.POSITIVE_INFINITY
    for (const resource of this.#resources.values()) this.#mayAsk(resource)
  }

  #resource(id: string, now: number): Resource | undefined {
    this.#sweep(now)
    const present = this.#resources.get(id)
    if (present !== undefined) return present
    const template = this.#templates.find(id)
    if (template === undefined) return undefined
    const resource = new Resource(id, template, this.#isRoot, this.mastership.learnFrom, this.#minimumSeconds)
    this.#resources.set(id, resource)
    return resource
  }

  /** Drops resources that nobody has asked for, and that hold nothing of the parent's. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_SECONDS) return
    this.#sweptAt = now
    for (const [id, { ledger, upstream }] of this.#resources) {
      ledger.advance(now)
      if (ledger.size === 0 && upstream?.lease(now) === undefined) this.#resources.delete(id)
    }
  }
}
