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
import { type ResourceRepository, Templates } from './repository.js'
import { Census, Corrections, type Turn } from './resource-world.js'
import { ServerResource } from './server-resource.js'
import {
  type ChildSnapshot,
  largestOf,
  type NodeSnapshot,
  type NodeSummary,
  type ServerResourceSummary,
  summaryOf,
} from './snapshot.js'

/** Something that whoever runs a server should know. */
export type DoormanServerNotice =
  /** No template matches the name that was asked for. */
  | { readonly kind: 'unmatched'; readonly resourceId: string }
  /** Two processes go by the same id: each has leases of its own, but nobody can tell them apart. */
  | { readonly kind: 'duplicate'; readonly resourceId: string; readonly clientId: string }
  /** Somebody new was turned away, because of the limit that is named. */
  | { readonly kind: 'full'; readonly resourceId: string; readonly clientId: string; readonly limit: string }

/** How often resources are looked through for those that nobody uses any more. */
const SWEEP_SECONDS = 60
/** In one turn, which keeps others waiting: resources that are looked through, */
const MOST_LOOKS = 100
/** children whose time has come, once for that and once for what was asked, */
const MOST_WAKES = 100
/** and resources about which the parent is asked in one question. */
const MOST_ASKED = 100

/** A resource about which the parent has said nothing, or nothing of use, is not asked about before. */
const AGAIN_SECONDS = 1

export interface DoormanNodeSettings {
  /** The name of the node in the tree, the same for all tasks that may be its master. */
  id: string
  repository: ResourceRepository
  /** False: capacity comes from a parent. */
  isRoot: boolean
  /** A child that asks again sooner is not answered; 0 answers always. Never more than the level's refresh interval. */
  minimumSeconds: number
  mastership: MasterState
  limits: DoormanServerLimits
  notice: (notice: DoormanServerNotice) => void
}

/** A question to the parent, to be answered or given up before the next one. */
export interface ParentQuestion {
  readonly request: GetServerCapacityRequest
}

/**
 * A node in the tree of servers: divides the capacity of resources among the clients and servers that ask it. Pure:
 * time is handed in as seconds since the epoch, who is master comes from outside, and so do the parent's answers.
 */
export class DoormanNode {
  readonly id: string
  readonly mastership: MasterState
  readonly #isRoot: boolean
  readonly #minimumSeconds: number
  readonly #limits: DoormanServerLimits
  readonly #notice: (notice: DoormanServerNotice) => void
  readonly #turn: Turn = { wakes: MOST_WAKES }
  #census = new Census()
  readonly #corrections = new Corrections()
  readonly #resources = new Map<string, ServerResource>()
  #templates: Templates
  #question: ParentQuestion | undefined
  #sweptAt = 0
  /** Resources that are still to be looked through. */
  #sweep: Iterator<ServerResource> | undefined
  #swept: ServerResource | undefined
  /** Resources that still go by an earlier configuration. */
  #outdated = new Set<ServerResource>()
  /** Not after the earliest time at which a resource wants the parent to be asked. */
  #askAt = Number.POSITIVE_INFINITY
  /** The parent did not answer: nothing is asked before. */
  #pauseUntil = Number.NEGATIVE_INFINITY
  /** Where the next look for what the parent has to be asked about begins. */
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

  /** Whether this server is the master, and else who is, as far as it knows. */
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
   * Another configuration, from the next request on. Throws when it is wrong; the old one then stays. What it has no
   * more is kept until the leases of it have ended. A resource looks for its template when it is asked for, or when
   * its turn comes in some later call.
   */
  configure(repository: ResourceRepository): void {
    this.#templates = new Templates(repository)
    this.#outdated = new Set(this.#resources.values())
  }

  /** Mastership has begun, or ended: everything is forgotten. */
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

  /** When the parent should be asked; infinite while there is nothing to ask, or no answer yet. */
  askAt(now: number): number {
    if (this.#isRoot || this.#question !== undefined || !this.mastership.isMaster(now)) return Number.POSITIVE_INFINITY
    return Math.max(this.#askAt, this.#pauseUntil)
  }

  /** A question to the parent about all that is due; it makes promises, so it must be sent, or given up. */
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
   * The parent has answered. An answer to a question that was given up is passed over. What is wrong about a resource
   * counts as no answer about that one, and the first such reason is given back.
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

  /** There will be no answer; nothing is asked again before `againAt`. */
  unanswered(question: ParentQuestion, againAt: number): void {
    if (question !== this.#question) return
    this.#question = undefined
    this.#pauseUntil = againAt
    for (const { resourceId } of question.request.resource)
      this.#resources.get(resourceId)?.upstream?.unanswered(againAt)
    this.#lookWhenToAsk()
  }

  /** The node's own lease of a resource from its parent, while it is good. */
  lease(resourceId: string, now: number): Lease | undefined {
    return this.#resources.get(resourceId)?.upstream?.lease(now)
  }

  /** What people and pages want to see, with stops on the way. */
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

  /** The children of one resource with the largest leases, with stops on the way. */
  *largest(resourceId: string, most: number, now: number): Generator<undefined, ChildSnapshot[], undefined> {
    const resource = this.#resources.get(resourceId)
    return resource === undefined ? [] : yield* largestOf(resource, most, now)
  }

  /** The same as a summary with everybody. O(children log children). */
  snapshot(now: number): NodeSnapshot {
    const { resources, ...node } = wholeOf(this.summary(now))
    return {
      ...node,
      resources: resources.map((resource) => {
        const children = wholeOf(this.largest(resource.id, Number.POSITIVE_INFINITY, now))
        // To the moment, where the sum of a summary may be two seconds behind.
        return { ...resource, sumHas: children.reduce((sum, { has }) => sum + has, 0), children }
      }),
    }
  }

  /** There is more to do than calls have done; {@link proceed} does a part of it. */
  get isBehind(): boolean {
    return this.#turn.wakes <= 0 || this.#outdated.size > 0 || this.#sweep !== undefined
  }

  /** Lets go of what has run out, and brings resources up to date: as much as a call may do. */
  proceed(now: number): void {
    this.#sweep ??= this.#resources.values()
    this.#begin(now)
  }

  #mayAsk({ upstream }: ServerResource): void {
    if (upstream !== undefined) this.#askAt = Math.min(this.#askAt, upstream.nextAt)
  }

  /** What the parent has to be asked about: a part of it, and the next part the next time. */
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

  /** A call begins, and does its part of what has to be done for all resources. */
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

  /** Drops resources that nobody has asked for, and that hold nothing of the parent's. */
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
    const resource = new ServerResource(id, template, this.mastership.learnFrom, {
      isRoot: this.#isRoot,
      minimumSeconds: this.#minimumSeconds,
      census: this.#census,
      turn: this.#turn,
      corrections: this.#corrections,
    })
    this.#resources.set(id, resource)
    return resource
  }

  /** The limit that keeps one more child from that resource; a server speaks for many, and has no limit of its own. */
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

/** What a walk comes to, without its stops. */
function wholeOf<T>(walk: Generator<undefined, T, undefined>): T {
  for (;;) {
    const step = walk.next()
    if (step.done === true) return step.value
  }
}

/** What there is an answer for is answered; if that is nothing, whoever asked is told why. */
function answeredOr<A extends { response: unknown[] }>(full: string | undefined, answer: A): A {
  if (full !== undefined && answer.response.length === 0)
    throw new CapacityError('resource_exhausted', `the server takes no more, by its limit of ${full}`)
  return answer
}
