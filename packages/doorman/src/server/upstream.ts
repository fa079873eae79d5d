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

/** Wants that changed by more than this part since the last question cause an early one. */
const MOVED = 0.2

/** A node's report about itself to its parent. */
export interface NodeDemand {
  /** The amount that its children may be using, plus its reserve. */
  outstanding: number
  wants: number
  /** True if it has children. */
  alive: boolean
}

/**
 * A node's own lease of a resource from its parent, and the time to ask for it again. Times are seconds since the
 * epoch.
 *
 * The outstanding amount that it reports is a promise: until the answer, it grants no more than that.
 */
export class Upstream {
  readonly #corrections: Corrections
  #lease: Lease | undefined
  /** Sum of the backward corrections when the lease was last read. */
  #back = 0
  #target = Number.POSITIVE_INFINITY
  #promise = Number.POSITIVE_INFINITY
  /** Both times are without the clock's corrections. */
  #askedAt = Number.NEGATIVE_INFINITY
  #nextAt = Number.POSITIVE_INFINITY
  #wantsAsked = 0
  #minimumSeconds = 0

  constructor(corrections: Corrections) {
    this.#corrections = corrections
  }

  /** The time of the next question. */
  get nextAt(): number {
    return this.#nextAt + this.#corrections.total
  }

  /** The lease while it is valid: it ends as soon as either clock says so. */
  lease(now: number): Lease | undefined {
    const { back } = this.#corrections
    if (this.#lease !== undefined && back !== this.#back)
      this.#lease = { ...this.#lease, expiryTime: Math.floor(this.#lease.expiryTime + back - this.#back) }
    this.#back = back
    return this.#lease !== undefined && this.#lease.expiryTime > now ? this.#lease : undefined
  }

  /** The amount that may be granted now. */
  capacity(now: number): number {
    return Math.min(this.lease(now)?.capacity ?? 0, this.#promise)
  }

  /** The final amount that may be granted. */
  target(now: number): number {
    return Math.min(this.lease(now)?.capacity ?? 0, this.#target)
  }

  /** Records a question and its promise. */
  asked(standing: NodeDemand, minimumSeconds: number, now: number): void {
    this.#promise = standing.outstanding
    this.#askedAt = now - this.#corrections.total
    this.#wantsAsked = standing.wants
    this.#minimumSeconds = minimumSeconds
    this.#nextAt = Number.POSITIVE_INFINITY
  }

  /** Records the parent's answer. */
  answered({ gets, target }: ServerCapacityResourceResponse, alive: boolean, now: number): void {
    this.#lease = gets
    this.#back = this.#corrections.back
    this.#target = target ?? Number.POSITIVE_INFINITY
    this.#promise = Number.POSITIVE_INFINITY
    // Before the lease ends, even if the interval is longer.
    const seconds = Math.max(1, Math.min(gets.refreshInterval, gets.expiryTime - Math.floor(now) - 1))
    this.#nextAt = alive ? now - this.#corrections.total + seconds : Number.POSITIVE_INFINITY
  }

  /** No answer: the promise stays, and the question is repeated, not before `againAt`. */
  unanswered(againAt: number): void {
    this.#nextAt = Math.max(againAt - this.#corrections.total, this.#askedAt + this.#minimumSeconds)
  }

  /** Asks early if there is a reason, as soon as the parent accepts a question. */
  consider(standing: NodeDemand, now: number): void {
    // While a question is in flight there is nothing to add.
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

/** The dependencies of a {@link ParentLink}. Times are seconds since the epoch. */
export interface ParentLinkSettings {
  readonly node: DoormanNode
  readonly transport: Transport
  readonly now: () => number
  readonly after: After
  readonly deadlineMs: number
}

const FIRST_RETRY_SECONDS = 1
/** Short, because few servers ask the same parent, and each may have many waiting clients. */
const LAST_RETRY_SECONDS = 2
/** Most redirects between servers in one attempt. */
const MOST_REDIRECTS = 5

/**
 * Sends a node's questions to its parent, one at a time, and follows redirects to the parent's master. Each answer is
 * awaited for at most the deadline; then it retries after 1 s or 2 s. One timer, while there are questions.
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

  /** The reason why the last question was not answered; `undefined` after an answer. */
  get lastError(): string | undefined {
    return this.#lastError
  }

  /** Checks for a question after the node has done some work. */
  look(): void {
    if (this.#closed) return
    const { node, now } = this.#settings
    const at = now()
    const question = node.ask(at)
    if (question !== undefined) void this.#put(question)
    const nextAt = node.askAt(at)
    this.#alarm.set(Number.isFinite(nextAt) ? nextAt * 1_000 : undefined, at * 1_000)
  }

  /** Stops asking. */
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
    throw new CapacityError('unavailable', 'the servers redirect in a circle')
  }
}
