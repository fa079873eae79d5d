import {
  CapacityError,
  type DiscoveryResponse,
  type GetCapacityRequest,
  type GetCapacityResponse,
  type GetServerCapacityRequest,
  type GetServerCapacityResponse,
  type Lease,
  type ReleaseCapacityRequest,
  type ReleaseCapacityResponse,
} from '@fairlead/core'
import { requireGetCapacity, requireGetServerCapacity, requireReleaseCapacity } from './bad-request.js'
import { Census } from './ledger.js'
import type { LeaseServerLimits } from './limits.js'
import type { Mastership } from './mastership.js'
import { Templates } from './repository.js'
import { Resource } from './resource.js'
import { type ChildSnapshot, largestOf, type NodeSnapshot, type NodeSummary, summaryOf } from './snapshot.js'
import type { ResourceRepository } from './template.js'

/** Something that whoever runs a server should know. */
export type LeaseServerNotice =
  /** No template matches the name that was asked for. */
  | { readonly kind: 'unmatched'; readonly resourceId: string }
  /** Two processes go by the same id: each has leases of its own, but nobody can tell them apart. */
  | { readonly kind: 'duplicate'; readonly resourceId: string; readonly clientId: string }
  /** Somebody new was turned away, because of the limit that is named. */
  | { readonly kind: 'full'; readonly resourceId: string; readonly clientId: string; readonly limit: string }

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
  limits: LeaseServerLimits
  notice: (notice: LeaseServerNotice) => void
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
  readonly #limits: LeaseServerLimits
  readonly #notice: (notice: LeaseServerNotice) => void
  readonly #census = new Census()
  readonly #resources = new Map<string, Resource>()
  #templates: Templates
  #question: Question | undefined
  #sweptAt = 0
  /** Not after the earliest time at which a resource wants the parent to be asked. */
  #askAt = Number.POSITIVE_INFINITY

  /** Throws a `RangeError` or `TypeError` when the repository is wrong. */
  constructor({ id, repository, isRoot, minimumSeconds, mastership, limits, notice }: LeaseNodeSettings) {
    this.#limits = limits
    this.#notice = notice
    this.id = id
    this.mastership = mastership
    this.#isRoot = isRoot
    this.#minimumSeconds = minimumSeconds
    this.#templates = new Templates(repository)
  }

  /** Whether this server is the master, and else who is, as far as it knows. */
  discovery(now: number): DiscoveryResponse {
    return { mastership: this.mastership.answer(now), isMaster: this.mastership.isMaster(now) }
  }

  /** Throws a `CapacityError` on a bad request, and changes nothing. */
  getCapacity(request: GetCapacityRequest, now: number): GetCapacityResponse {
    requireGetCapacity(request, this.#limits)
    if (!this.mastership.isMaster(now)) return { response: [], mastership: this.mastership.answer(now) }
    const { clientId, instance } = request
    const answer: GetCapacityResponse = { response: [] }
    let full: string | undefined
    for (const each of request.resource) {
      const { resourceId } = each
      const present = this.#present(resourceId, now)
      const limit = present?.ledger.findClient(clientId, instance) ? undefined : this.#fullFor(clientId, present)
      if (limit !== undefined) full = this.#tellFull(clientId, resourceId, limit)
      else {
        const resource = present ?? this.#create(resourceId)
        if (resource === undefined || resource.isWithdrawn) continue
        if (resource.isRivalled(clientId, instance)) this.#notice({ kind: 'duplicate', clientId, resourceId })
        const gets = resource.decideClient(clientId, instance, each, now)
        if (gets === undefined) continue
        this.#mayAsk(resource)
        answer.response.push({ resourceId, gets, safeCapacity: resource.safeCapacity })
      }
    }
    return answeredOr(full, answer)
  }

  /** Throws a `CapacityError` on a bad request, and changes nothing. */
  getServerCapacity(request: GetServerCapacityRequest, now: number): GetServerCapacityResponse {
    requireGetServerCapacity(request, this.#limits)
    if (!this.mastership.isMaster(now)) return { response: [], mastership: this.mastership.answer(now) }
    const { serverId } = request
    const answer: GetServerCapacityResponse = { response: [] }
    let full: string | undefined
    for (const each of request.resource) {
      const { resourceId } = each
      const present = this.#present(resourceId, now)
      const limit = present?.ledger.findServer(serverId) ? undefined : this.#fullFor(undefined, present)
      if (limit !== undefined) full = this.#tellFull(serverId, resourceId, limit)
      else {
        const resource = present ?? this.#create(resourceId)
        if (resource === undefined || resource.isWithdrawn) continue
        const response = resource.decideServer(serverId, each, now)
        if (response === undefined) continue
        this.#mayAsk(resource)
        answer.response.push(response)
      }
    }
    return answeredOr(full, answer)
  }

  /** Throws a `CapacityError` on a bad request, and changes nothing. */
  releaseCapacity(request: ReleaseCapacityRequest, now: number): ReleaseCapacityResponse {
    requireReleaseCapacity(request, this.#limits)
    if (!this.mastership.isMaster(now)) return { mastership: this.mastership.answer(now) }
    for (const id of request.resourceId) {
      const resource = this.#resources.get(id)
      resource?.release(request.clientId, request.instance, now)
      if (resource !== undefined) this.#mayAsk(resource)
    }
    return {}
  }

  /**
   * Another configuration, from the next request on. Throws when it is wrong; the old one then stays. What it has no
   * more is kept until the leases of it have ended.
   */
  configure(repository: ResourceRepository): void {
    this.#templates = new Templates(repository)
    for (const [id, resource] of this.#resources) resource.configure(this.#templates.find(id))
  }

  /** Mastership has begun, or ended: everything is forgotten. */
  forget(): void {
    for (const { ledger } of this.#resources.values()) ledger.clear()
    this.#resources.clear()
    this.#question = undefined
    this.#askAt = Number.POSITIVE_INFINITY
  }

  /** The clock was corrected by so many seconds. O(children). */
  shift(seconds: number): void {
    this.mastership.shift(seconds)
    this.#sweptAt += seconds
    this.#askAt += seconds
    for (const resource of this.#resources.values()) resource.shift(seconds)
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

  /** What people and pages want to see. O(resources). */
  summary(now: number): NodeSummary {
    return summaryOf(this, this.#resources.values(), this.#templates.all, now)
  }

  /** The children of one resource with the largest leases. O(children). */
  largest(resourceId: string, most: number, now: number): ChildSnapshot[] {
    const resource = this.#resources.get(resourceId)
    return resource === undefined ? [] : largestOf(resource, most, now)
  }

  /** The same with everybody. O(children log children). */
  snapshot(now: number): NodeSnapshot {
    const { resources, ...node } = this.summary(now)
    const all = Number.POSITIVE_INFINITY
    return {
      ...node,
      resources: resources.map((resource) => {
        const children = this.largest(resource.id, all, now)
        // To the moment, where the sum of a summary may be two seconds behind.
        return { ...resource, sumHas: children.reduce((sum, { has }) => sum + has, 0), children }
      }),
    }
  }

  #mayAsk({ upstream }: Resource): void {
    if (upstream !== undefined) this.#askAt = Math.min(this.#askAt, upstream.nextAt)
  }

  #lookWhenToAsk(): void {
    this.#askAt = Number.POSITIVE_INFINITY
    for (const resource of this.#resources.values()) this.#mayAsk(resource)
  }

  #present(id: string, now: number): Resource | undefined {
    this.#sweep(now)
    return this.#resources.get(id)
  }

  #create(id: string): Resource | undefined {
    const template = this.#templates.find(id)
    if (template === undefined) {
      this.#notice({ kind: 'unmatched', resourceId: id })
      return undefined
    }
    const resource = new Resource(id, template, this.mastership.learnFrom, {
      isRoot: this.#isRoot,
      minimumSeconds: this.#minimumSeconds,
      census: this.#census,
    })
    this.#resources.set(id, resource)
    return resource
  }

  /** The limit that keeps one more child from that resource; a server speaks for many, and has no limit of its own. */
  #fullFor(clientId: string | undefined, resource: Resource | undefined): string | undefined {
    const { resources, clients, resourcesPerClient } = this.#limits
    if (this.#census.size >= clients) return `clients: ${clients}`
    if (resource === undefined && this.#resources.size >= resources) return `resources: ${resources}`
    if (clientId !== undefined && this.#census.of(clientId) >= resourcesPerClient)
      return `resourcesPerClient: ${resourcesPerClient}`
    return undefined
  }

  #tellFull(clientId: string, resourceId: string, limit: string): string {
    this.#notice({ kind: 'full', clientId, resourceId, limit })
    return limit
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

/** What there is an answer for is answered; if that is nothing, whoever asked is told why. */
function answeredOr<A extends { response: unknown[] }>(full: string | undefined, answer: A): A {
  if (full !== undefined && answer.response.length === 0)
    throw new CapacityError('resource_exhausted', `the server takes no more, by its limit of ${full}`)
  return answer
}
