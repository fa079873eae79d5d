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
  type ServerCapacityResourceResponse,
} from '@fairlead/core/doorman'
import {
  type DoormanServerLimits,
  requireGetCapacity,
  requireGetServerCapacity,
  requireReleaseCapacity,
  requireServerAnswer,
} from './limits.js'
import type { MasterState } from './master-state.js'
import { type ResourceRepository, type ResourceTemplate, Templates } from './repository.js'
import { type CallWork, Census, Corrections } from './resource-world.js'
import { ServerResource } from './server-resource.js'
import {
  type ChildSnapshot,
  largestOf,
  type NodeSnapshot,
  type NodeSummary,
  type ServerResourceSummary,
  summaryOf,
} from './snapshot.js'

/** A notice for the server's operator. */
export type DoormanServerNotice =
  /** No template matches the requested name. */
  | { readonly kind: 'unmatched'; readonly resourceId: string }
  /** Two processes go by the same id: each has leases of its own, but they cannot be distinguished. */
  | { readonly kind: 'duplicate'; readonly resourceId: string; readonly clientId: string }
  /** A new client was refused because of the named limit. */
  | { readonly kind: 'full'; readonly resourceId: string; readonly clientId: string; readonly limit: string }

/** Interval of the search for unused resources, in seconds. */
const SWEEP_SECONDS = 60
/** Bounds on one turn, during which other calls wait: resources examined, */
const MOST_LOOKS = 100
/** children that are due, once for due work and once for the request, */
const MOST_WAKES = 100
/** and resources in one question to the parent. */
const MOST_ASKED = 100

/** Time before a resource is asked about again after no answer, or an unusable one. */
const AGAIN_SECONDS = 1

export interface DoormanNodeSettings {
  /** The name of the node in the tree, the same for all tasks that may be its master. */
  id: string
  repository: ResourceRepository
  /** False: a parent grants the capacity. */
  isRoot: boolean
  /** A child that asks again sooner gets no answer; 0 always answers. Never more than the level's refresh interval. */
  minimumSeconds: number
  mastership: MasterState
  limits: DoormanServerLimits
  notice: (notice: DoormanServerNotice) => void
}

/** A question to the parent, to be answered or abandoned before the next one. */
export interface ParentQuestion {
  readonly request: GetServerCapacityRequest
}

/**
 * A node in the tree of servers: divides the capacity of resources among the clients and servers that ask it. Pure: the
 * time is an argument, in seconds since the epoch, and the mastership and the parent's answers come from outside.
 */
export class DoormanNode {
  readonly id: string
  readonly mastership: MasterState
  readonly #isRoot: boolean
  readonly #minimumSeconds: number
  readonly #limits: DoormanServerLimits
  readonly #notice: (notice: DoormanServerNotice) => void
  readonly #turn: CallWork = { wakes: MOST_WAKES }
  #census = new Census()
  readonly #corrections = new Corrections()
  readonly #resources = new Map<string, ServerResource>()
  #templates: Templates
  #question: ParentQuestion | undefined
  #sweptAt = 0
  /** Resources still to be examined. */
  #sweep: Iterator<ServerResource> | undefined
  #swept: ServerResource | undefined
  /** Resources that still use an earlier configuration. */
  #outdated = new Set<ServerResource>()
  /** At or before the earliest time at which a resource has a question for the parent. */
  #askAt = Number.POSITIVE_INFINITY
  /** The parent did not answer: no question before this time. */
  #pauseUntil = Number.NEGATIVE_INFINITY
  /** The position of the next search for questions to the parent. */
  #asking: Iterator<ServerResource> = this.#resources.values()

  /** Throws a `RangeError` or `TypeError` when the repository is wrong. */
  constructor({ id, repository, isRoot, minimumSeconds, mastership, limits, notice }: DoormanNodeSettings) {
    this.#limits = limits
    this.#notice = notice
    this.id = id
    this.mastership = mastership
    this.#isRoot = isRoot
    this.#minimumSeconds = minimumSeconds
    this.#templates = new Templates(repository)
  }

  /** Whether this server is the master, or else which one is, if known. */
  discovery(now: number): DiscoveryResponse {
    return { mastership: this.mastership.answer(now), isMaster: this.mastership.isMaster(now) }
  }

  /** Throws a `CapacityError` on a bad request, and changes nothing. */
  getCapacity(request: GetCapacityRequest, now: number): GetCapacityResponse {
    requireGetCapacity(request, this.#limits)
    if (!this.mastership.isMaster(now)) return { response: [], mastership: this.mastership.answer(now) }
    this.#begin(now)
    const { clientId, instance, releases } = request
    const answer: GetCapacityResponse = { response: [] }
    let full: string | undefined
    for (const each of request.resource) {
      const { resourceId } = each
      const present = this.#present(resourceId)
      const limit = present?.ledger.findClient(clientId, instance) ? undefined : this.#fullFor(clientId, present)
      if (limit !== undefined) full = this.#tellFull(clientId, resourceId, limit)
      else {
        const resource = present ?? this.#create(resourceId)
        if (resource === undefined || resource.isWithdrawn) continue
        if (resource.isRivalled(clientId, instance)) this.#notice({ kind: 'duplicate', clientId, resourceId })
        const gets = resource.decideClient(clientId, instance, each, now, releases)
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
    this.#begin(now)
    const { serverId } = request
    const answer: GetServerCapacityResponse = { response: [] }
    let full: string | undefined
    for (const each of request.resource) {
      const { resourceId } = each
      const present = this.#present(resourceId)
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
    this.#begin(now)
    for (const id of request.resourceId) {
      const resource = this.#present(id)
      resource?.release(request.clientId, request.instance, now, request.releases)
      if (resource !== undefined) this.#mayAsk(resource)
    }
    return {}
  }

  /**
   * Takes another configuration, from the next request on. Throws if it is invalid; the old one then stays. A resource
   * that is no longer configured is kept until its leases have ended. A resource looks for its template when it is next
   * requested, or when a later call examines it.
   */
  configure(repository: ResourceRepository): void {
    this.#templates = new Templates(repository)
    this.#outdated = new Set(this.#resources.values())
  }

  /** The configuration in force. */
  get templates(): readonly ResourceTemplate[] {
    return this.#templates.all
  }

  /** Mastership has begun or ended: drops all state. */
  forget(): void {
    this.#census = new Census()
    this.#resources.clear()
    this.#sweep = undefined
    this.#swept = undefined
    this.#outdated.clear()
    this.#question = undefined
    this.#askAt = Number.POSITIVE_INFINITY
    this.#pauseUntil = Number.NEGATIVE_INFINITY
  }

  /** The clock was corrected by `seconds`. O(1). */
  shift(seconds: number): void {
    this.#corrections.add(seconds)
    this.mastership.shift(seconds)
    this.#sweptAt += seconds
    this.#askAt += seconds
    this.#pauseUntil += seconds
  }

  /** The time of the next question to the parent; infinite if there is none, or one is unanswered. */
  askAt(now: number): number {
    if (this.#isRoot || this.#question !== undefined || !this.mastership.isMaster(now)) return Number.POSITIVE_INFINITY
    return Math.max(this.#askAt, this.#pauseUntil)
  }

  /** A question to the parent about all due resources. It contains promises, so it must be sent, or abandoned. */
  ask(now: number): ParentQuestion | undefined {
    if (this.askAt(now) > now) return undefined
    this.#begin(now)
    const resource = this.#due(now).map((each) => each.ask(now, this.#minimumSeconds))
    this.#lookWhenToAsk()
    if (resource.length === 0) return undefined
    this.#question = { request: { serverId: this.id, resource } }
    return this.#question
  }

  /**
   * Takes the parent's answer. An answer to an abandoned question is ignored. An invalid part counts as no answer about
   * that resource; returns the first such reason.
   */
  answered(question: ParentQuestion, answer: GetServerCapacityResponse, now: number): string | undefined {
    if (question !== this.#question) return undefined
    this.#question = undefined
    this.#pauseUntil = Number.NEGATIVE_INFINITY
    this.#begin(now)
    let problem: string | undefined
    const answers = new Map(answer.response.map((response) => [response.resourceId, response]))
    for (const { resourceId } of question.request.resource) {
      const resource = this.#resources.get(resourceId)
      const response = answers.get(resourceId)
      const wrong = response && faultOf(response)
      if (response === undefined || wrong !== undefined) resource?.upstream?.unanswered(now + AGAIN_SECONDS)
      else resource?.answered(response, now)
      problem ??= wrong
    }
    this.#lookWhenToAsk()
    return problem
  }

  /** The question stays unanswered; the next one is not before `againAt`. */
  unanswered(question: ParentQuestion, againAt: number): void {
    if (question !== this.#question) return
    this.#question = undefined
    this.#pauseUntil = againAt
    for (const { resourceId } of question.request.resource)
      this.#resources.get(resourceId)?.upstream?.unanswered(againAt)
    this.#lookWhenToAsk()
  }

  /** The node's own valid lease of a resource from its parent. */
  lease(resourceId: string, now: number): Lease | undefined {
    return this.#resources.get(resourceId)?.upstream?.lease(now)
  }

  /** The state for people and pages, with pauses. */
  *summary(now: number): Generator<undefined, NodeSummary, undefined> {
    const resources: ServerResourceSummary[] = []
    this.#begin(now)
    for (const resource of this.#resources.values()) {
      if (resources.push(summaryOf(resource, now)) % MOST_LOOKS !== 0) continue
      yield
      this.#begin(now)
    }
    return {
      id: this.id,
      isMaster: this.mastership.isMaster(now),
      ...this.mastership.answer(now),
      resources,
      templates: this.#templates.all,
    }
  }

  /** The children of one resource with the largest leases, with pauses. */
  *largest(resourceId: string, most: number, now: number): Generator<undefined, ChildSnapshot[], undefined> {
    const resource = this.#resources.get(resourceId)
    return resource === undefined ? [] : yield* largestOf(resource, most, now)
  }

  /** The summary with all children. O(children log children). */
  snapshot(now: number): NodeSnapshot {
    const { resources, ...node } = wholeOf(this.summary(now))
    return {
      ...node,
      resources: resources.map((resource) => {
        const children = wholeOf(this.largest(resource.id, Number.POSITIVE_INFINITY, now))
        // Exact, whereas the sum of a summary may be two seconds old.
        return { ...resource, sumHas: children.reduce((sum, { has }) => sum + has, 0), children }
      }),
    }
  }

  /** Work is left over; {@link proceed} does a part of it. */
  get isBehind(): boolean {
    return this.#turn.wakes <= 0 || this.#outdated.size > 0 || this.#sweep !== undefined
  }

  /** Drops what has expired, and updates resources: as much as one call may do. */
  proceed(now: number): void {
    this.#sweep ??= this.#resources.values()
    this.#begin(now)
  }

  #mayAsk({ upstream }: ServerResource): void {
    if (upstream !== undefined) this.#askAt = Math.min(this.#askAt, upstream.nextAt)
  }

  /** A part of the resources with a question for the parent; the next call continues after it. */
  #due(now: number): ServerResource[] {
    const most = Math.min(MOST_ASKED, this.#limits.resourcesPerRequest)
    const due: ServerResource[] = []
    for (let looks = this.#resources.size; looks > 0 && due.length < most; looks--) {
      let next = this.#asking.next()
      if (next.done === true) {
        this.#asking = this.#resources.values()
        next = this.#asking.next()
      }
      const resource = next.value as ServerResource
      if (resource.upstream!.nextAt <= now) due.push(resource)
    }
    return due
  }

  #lookWhenToAsk(): void {
    this.#askAt = Number.POSITIVE_INFINITY
    for (const resource of this.#resources.values()) this.#mayAsk(resource)
  }

  /** Begins a call, with its part of the work due for all resources. */
  #begin(now: number): void {
    this.#turn.wakes = MOST_WAKES
    let looks = MOST_LOOKS
    for (const resource of this.#outdated) {
      if (looks-- === 0) break
      this.#update(resource)
    }
    this.#lookThrough(looks, now)
    this.#turn.wakes = MOST_WAKES
  }

  /** Drops resources that are unused and hold none of the parent's capacity. */
  #lookThrough(most: number, now: number): void {
    if (this.#sweep === undefined && now - this.#sweptAt < SWEEP_SECONDS) return
    this.#sweep ??= this.#resources.values()
    this.#sweptAt = now
    for (let looks = 0; looks < most; looks++) {
      const resource = this.#swept ?? (this.#sweep.next().value as ServerResource | undefined)
      this.#swept = resource
      if (resource === undefined) {
        this.#sweep = undefined
        return
      }
      const { id, ledger, upstream } = resource
      ledger.advance(now)
      if (this.#turn.wakes <= 0) return
      if (ledger.size === 0 && upstream?.lease(now) === undefined) this.#resources.delete(id)
      this.#swept = undefined
    }
  }

  #present(id: string): ServerResource | undefined {
    const resource = this.#resources.get(id)
    if (resource !== undefined && this.#outdated.has(resource)) this.#update(resource)
    return resource
  }

  #update(resource: ServerResource): void {
    this.#outdated.delete(resource)
    resource.configure(this.#templates.find(resource.id))
  }

  #create(id: string): ServerResource | undefined {
    const template = this.#templates.find(id)
    if (template === undefined) {
      this.#notice({ kind: 'unmatched', resourceId: id })
      return undefined
    }
    const world = {
      isRoot: this.#isRoot,
      minimumSeconds: this.#minimumSeconds,
      census: this.#census,
      turn: this.#turn,
      corrections: this.#corrections,
    }
    const { learnFrom } = this.mastership
    const resource = new ServerResource(id, template, learnFrom, world, this.mastership.leasesEnd(id))
    this.#resources.set(id, resource)
    return resource
  }

  /**
   * The limit that keeps one more child from that resource; a server acts for many clients, and has no limit of its
   * own.
   */
  #fullFor(clientId: string | undefined, resource: ServerResource | undefined): string | undefined {
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
}

function faultOf(response: ServerCapacityResourceResponse): string | undefined {
  try {
    requireServerAnswer(response)
    return undefined
  } catch (error) {
    return `a bad answer about ${response.resourceId}: ${String(error)}`
  }
}

/** The result of a walk, without its pauses. */
function wholeOf<T>(walk: Generator<undefined, T, undefined>): T {
  for (;;) {
    const step = walk.next()
    if (step.done === true) return step.value
  }
}

/** Returns the answer, or, if it is empty because a limit was reached, throws the reason. */
function answeredOr<A extends { response: unknown[] }>(full: string | undefined, answer: A): A {
  if (full !== undefined && answer.response.length === 0)
    throw new CapacityError('resource_exhausted', `the server is full, by its limit of ${full}`)
  return answer
}
