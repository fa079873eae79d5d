import type { After } from '@fairlead/core'
import {
  CapacityError,
  type CapacityService,
  type GetServerCapacityResponse,
  type Lease,
  type ServerCapacityResourceResponse,
  type Transport,
} from '@fairlead/core/doorman'
import { Alarm, withinDeadline } from '@fairlead/core/internal'
import type { DoormanNode, ParentQuestion } from './doorman-node.js'
import type { Corrections } from './resource-world.js'

/** Wants that moved by this part since the parent was asked are worth a question of their own. */
const MOVED = 0.2

/** What a node says of itself when it asks. */
export interface NodeDemand {
  /** What its children may be using, and its reserve. */
  outstanding: number
  wants: number
  /** It has children. */
  alive: boolean
}

/**
 * A node's own lease of a resource from its parent, and when to ask for it again. Times are seconds since the epoch.
 *
 * What it says to be outstanding is a promise: from then on, until an answer comes, it hands out no more than that.
 */
export class Upstream {
  readonly #corrections: Corrections
  #lease: Lease | undefined
  /** What had set the clock back when the lease was last looked at. */
  #back = 0
  #target = Number.POSITIVE_INFINITY
  #promise = Number.POSITIVE_INFINITY
  /** Both by the clock without its corrections. */
  #askedAt = Number.NEGATIVE_INFINITY
  #nextAt = Number.POSITIVE_INFINITY
  #wantsAsked = 0
  #minimumSeconds = 0

  constructor(corrections: Corrections) {
    this.#corrections = corrections
  }

  /** When to ask. */
  get nextAt(): number {
    return this.#nextAt + this.#corrections.total
  }

  /** The lease while it is good; one that either clock says has ended is not. */
  lease(now: number): Lease | undefined {
    const { back } = this.#corrections
    if (this.#lease !== undefined && back !== this.#back)
      this.#lease = { ...this.#lease, expiryTime: Math.floor(this.#lease.expiryTime + back - this.#back) }
    this.#back = back
    return this.#lease !== undefined && this.#lease.expiryTime > now ? this.#lease : undefined
  }

  /** What may be handed out. */
  capacity(now: number): number {
    return Math.min(this.lease(now)?.capacity ?? 0, this.#promise)
  }

  /** What should be handed out in the end. */
  target(now: number): number {
    return Math.min(this.lease(now)?.capacity ?? 0, this.#target)
  }

  /** It asks, and promises. */
  asked(standing: NodeDemand, minimumSeconds: number, now: number): void {
    this.#promise = standing.outstanding
    this.#askedAt = now - this.#corrections.total
    this.#wantsAsked = standing.wants
    this.#minimumSeconds = minimumSeconds
    this.#nextAt = Number.POSITIVE_INFINITY
  }

  /** The parent has answered. */
  answered({ gets, target }: ServerCapacityResourceResponse, alive: boolean, now: number): void {
    this.#lease = gets
    this.#back = this.#corrections.back
    this.#target = target ?? Number.POSITIVE_INFINITY
    this.#promise = Number.POSITIVE_INFINITY
    // Before it ends, whatever the interval.
    const seconds = Math.max(1, Math.min(gets.refreshInterval, gets.expiryTime - Math.floor(now) - 1))
    this.#nextAt = alive ? now - this.#corrections.total + seconds : Number.POSITIVE_INFINITY
  }

  /** No answer: the promise stays, and the question is put again, not before `againAt`. */
  unanswered(againAt: number): void {
    this.#nextAt = Math.max(againAt - this.#corrections.total, this.#askedAt + this.#minimumSeconds)
  }

  /** Whether there is reason to ask before the time, as soon as the parent would listen. */
  consider(standing: NodeDemand, now: number): void {
    // While a question is under way there is nothing to add.
    if (this.#promise !== Number.POSITIVE_INFINITY && this.#nextAt === Number.POSITIVE_INFINITY) return
    const lease = this.lease(now)?.capacity ?? 0
    const first =
      this.#askedAt === Number.NEGATIVE_INFINITY || (this.#nextAt === Number.POSITIVE_INFINITY && standing.alive)
    const moved = Math.abs(standing.wants - this.#wantsAsked) > MOVED * this.#wantsAsked
    const shrunk = lease > this.#target && standing.outstanding < lease
    if (first || moved || shrunk)
      this.#nextAt = Math.min(
        this.#nextAt,
        Math.max(now - this.#corrections.total, this.#askedAt + this.#minimumSeconds),
      )
  }
}

/** The world of a {@link ParentLink}. Times are seconds since the epoch. */
export interface ParentLinkSettings {
  readonly node: DoormanNode
  readonly transport: Transport
  readonly now: () => number
  readonly after: After
  readonly deadlineMs: number
}

const FIRST_RETRY_SECONDS = 1
/** Few servers ask the same parent, and behind each of them many clients may wait. */
const LAST_RETRY_SECONDS = 2
/** From server to server in one go. */
const MOST_REDIRECTS = 5

/**
 * Puts a node's questions to its parent, one at a time, and follows redirects to the parent's master. No answer is
 * waited for longer than the deadline; then it tries again, after 1 s or 2 s. One timer, while there is anything to
 * ask.
 */
export class ParentLink {
  readonly #settings: ParentLinkSettings
  readonly #alarm: Alarm
  #service: CapacityService | undefined
  #failures = 0
  #lastError: string | undefined
  #closed = false

  constructor(settings: ParentLinkSettings) {
    this.#settings = settings
    this.#alarm = new Alarm(settings.after, () => this.look())
  }

  /** Why the last question was not answered; `undefined` once one was. */
  get lastError(): string | undefined {
    return this.#lastError
  }

  /** The node has done something: perhaps there is something to ask. */
  look(): void {
    if (this.#closed) return
    const { node, now } = this.#settings
    const at = now()
    const question = node.ask(at)
    if (question !== undefined) void this.#put(question)
    const nextAt = node.askAt(at)
    this.#alarm.set(Number.isFinite(nextAt) ? nextAt * 1_000 : undefined, at * 1_000)
  }

  /** Asks no more. */
  close(): void {
    this.#closed = true
    this.#alarm.set(undefined, 0)
  }

  async #put(question: ParentQuestion): Promise<void> {
    const { node, now } = this.#settings
    try {
      const answer = await this.#ask(question)
      this.#lastError = node.answered(question, answer, now())
      this.#failures = 0
    } catch (error) {
      this.#service = undefined
      this.#lastError = String(error)
      const seconds = Math.min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** this.#failures++)
      node.unanswered(question, now() + seconds)
    }
    this.look()
  }

  async #ask({ request }: ParentQuestion): Promise<GetServerCapacityResponse> {
    const { transport, after, deadlineMs } = this.#settings
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const answer = await withinDeadline(deadlineMs, after, (signal) => {
        this.#service ??= transport.connect()
        return this.#service.getServerCapacity(request, signal)
      })
      if (answer.mastership === undefined || answer.response.length > 0) return answer
      const { masterAddress } = answer.mastership
      if (masterAddress === undefined || masterAddress === '')
        throw new CapacityError('unavailable', 'no server knows the master of the parent')
      this.#service = transport.connect(masterAddress)
    }
    throw new CapacityError('unavailable', 'servers send us round in circles')
  }
}
