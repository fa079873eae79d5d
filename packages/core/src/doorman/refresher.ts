import { type After, Alarm, type Clock } from '../clock.js'
import { type Random, randomId } from '../random.js'
import type { ClientResource, Moment } from './client-resource.js'
import { CapacityError, type CapacityService, type GetCapacityResponse } from './protocol.js'
import { type Transport, withinDeadline } from './transport.js'

/** The clocks, chance and timers of a client. */
export interface RefresherOptions {
  readonly clientId: string
  readonly transport: Transport
  readonly deadlineMs: number
  readonly clock: Clock
  readonly wallClock: Clock
  readonly random: Random
  readonly after: After
}

/**
 * Time until the next attempt after the first failure, doubled after each further one, and its maximum; in
 * milliseconds.
 */
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000
/** The same while a caller waits, or holds slots that the server should know about. */
const NEEDED_RETRY_MS = 2_000
/** A retry is delayed by up to this part of its time. */
const RETRY_JITTER = 0.25
/** Redirections to other servers in one attempt before it counts as a failure. */
const MOST_REDIRECTS = 5

/**
 * Asks for the capacity of all resources of a client in one question at a time, and again when the first of them is
 * due. It follows a server's redirection to the master. Without an answer it starts over from the first server after 1
 * s to 60 s. One timer, and only while there are resources.
 */
export class Refresher {
  readonly #options: RefresherOptions
  readonly #resources = new Set<ClientResource>()
  /** Ids to release, and the number of releases sent, by which the server recognises a release that arrives late. */
  readonly #releasing = new Set<string>()
  #releases = 0
  readonly #alarm: Alarm
  #idle: (() => void)[] = []
  #service: CapacityService | undefined = undefined
  /** Address of the master, if a server named it. */
  #master: string | undefined = undefined
  /** The question in flight, and the time when it was sent. */
  #busy: number | undefined = undefined
  #begunMs = 0
  #runs = 0
  #answeredRun = 0
  #stepping = false
  #soon = false
  #closed = false
  #failures = 0
  #lastError: string | undefined = undefined
  #failedMs: number = Number.NEGATIVE_INFINITY
  #jitter = 1
  /**
   * Distinguishes instances with the same id; made with the first question, because some runtimes have no randomness
   * before that.
   */
  #instance: string | undefined = undefined

  constructor(options: RefresherOptions) {
    this.#options = options
    this.#alarm = new Alarm(options.after, () => this.#step())
  }

  get standing(): { master: string | undefined; failures: number; lastError: string | undefined } {
    return { master: this.#master, failures: this.#failures, lastError: this.#lastError }
  }

  add(resource: ClientResource): void {
    this.#resources.add(resource)
    if (this.#failures > 0) resource.failed()
    this.soon()
  }

  /** Stops asking for a resource, and gives its capacity back. */
  remove(resource: ClientResource): void {
    if (!this.#resources.delete(resource)) return
    if (resource.asked) this.#releasing.add(resource.id)
    this.soon()
  }

  /** Checks for due work after the present call has returned. */
  soon(): void {
    if (this.#soon) return
    this.#soon = true
    void Promise.resolve().then(() => {
      this.#soon = false
      this.#step()
    })
  }

  /** Stops asking. Fulfilled when all releases were sent or have failed; never rejected. */
  close(): Promise<void> {
    this.#closed = true
    return new Promise((resolve) => {
      this.#idle.push(resolve)
      this.soon()
    })
  }

  /**
   * Asks for all due resources within this call, even if another caller's question ended with its request; see
   * `DoormanClient`.
   */
  async refresh(): Promise<void> {
    const nowMs = this.#options.clock()
    const lacks = [...this.#resources].some(({ isAsking }) => isAsking)
    // Two concurrent questions may be answered in any order; without a lease that does no harm.
    const isAlive = this.#busy !== undefined && nowMs - this.#begunMs < this.#options.deadlineMs && !lacks
    if (this.#closed || isAlive || !(lacks || this.#dueMs() <= nowMs)) return
    const run = this.#begin()
    // Releases go first: after the question, a release would return the capacity that the answer grants.
    while (this.#releasing.size > 0) await this.#release()
    await this.#ask(run)
    this.#ended(run)
  }

  #step(): void {
    // A listener that is notified here may close the client, or take a lease.
    if (this.#stepping) {
      this.soon()
      return
    }
    this.#stepping = true
    const nowMs = this.#options.clock()
    for (const resource of [...this.#resources]) resource.tell(nowMs)
    this.#stepping = false
    if (this.#busy === undefined) {
      if (this.#releasing.size > 0) this.#run(() => this.#release())
      else if (this.#dueMs() <= nowMs) this.#run((run) => this.#ask(run))
      else if (this.#closed) for (const resolve of this.#idle.splice(0)) resolve()
    }
    let nextMs = this.#busy !== undefined ? Number.POSITIVE_INFINITY : this.#dueMs()
    for (const { endsMs } of this.#resources) nextMs = Math.min(nextMs, endsMs)
    this.#alarm.set(nextMs === Number.POSITIVE_INFINITY ? undefined : nextMs, nowMs)
  }

  #run(work: (run: number) => Promise<void>): void {
    const run = this.#begin()
    void work(run).then(() => this.#ended(run))
  }

  #begin(): number {
    this.#busy = ++this.#runs
    this.#begunMs = this.#options.clock()
    return this.#busy
  }

  #ended(run: number): void {
    if (this.#busy === run) this.#busy = undefined
    this.#step()
  }

  #dueMs(): number {
    let dueMs = Number.POSITIVE_INFINITY
    if (this.#closed) return dueMs
    for (const resource of this.#resources) dueMs = Math.min(dueMs, resource.dueMs)
    return this.#failures === 0 ? dueMs : Math.max(dueMs, this.#retryAtMs())
  }

  /** Resources that need an answer get it soon after the end of a long outage. */
  #retryAtMs(): number {
    let longestMs = LAST_RETRY_MS
    for (const resource of this.#resources) if (resource.isNeeded) longestMs = NEEDED_RETRY_MS
    const retryMs = Math.min(longestMs, FIRST_RETRY_MS * 2 ** (this.#failures - 1))
    return this.#failedMs + Math.min(LAST_RETRY_MS, retryMs * this.#jitter)
  }

  async #ask(run: number): Promise<void> {
    const asked = [...this.#resources]
    try {
      for (let redirects = 0; ; redirects++) {
        const sent = this.#moment()
        const request = {
          clientId: this.#options.clientId,
          instance: this.#instanceId(),
          releases: this.#releases,
          resource: asked.map((resource) => resource.request(sent.nowMs)),
        }
        const answer = await this.#call((service, signal) => service.getCapacity(request, signal))
        if (answer.response.length > 0 || answer.mastership === undefined) {
          // A later question has already been answered.
          if (run < this.#answeredRun) return
          this.#answeredRun = run
          this.#answered(asked, answer, sent)
          return
        }
        if (this.#closed) return
        this.#follow(answer.mastership.masterAddress, redirects)
      }
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Sends the releases to the known server; if there is none, or it does not answer, the leases simply expire. */
  async #release(): Promise<void> {
    const { clientId } = this.#options
    const releases = this.#releases++
    const request = { clientId, instance: this.#instanceId(), releases, resourceId: [...this.#releasing] }
    this.#releasing.clear()
    try {
      await this.#call((service, signal) => service.releaseCapacity(request, signal))
    } catch {
      // A failed release has no effect but a later expiry.
    }
  }

  #call<T>(send: (service: CapacityService, signal: AbortSignal) => T | Promise<T>): Promise<T> {
    const { transport, deadlineMs, after } = this.#options
    return withinDeadline(deadlineMs, after, (signal) => {
      this.#service ??= transport.connect()
      return send(this.#service, signal)
    })
  }

  #follow(master: string | undefined, redirects: number): void {
    if (master === undefined || master === '') throw new CapacityError('unavailable', 'no server knows the master')
    if (redirects >= MOST_REDIRECTS) throw new CapacityError('unavailable', 'the servers redirect in a circle')
    this.#service = this.#options.transport.connect(master)
    this.#master = master
  }

  #answered(asked: readonly ClientResource[], { response }: GetCapacityResponse, sent: Moment): void {
    const now = this.#moment()
    const byId = new Map(response.map((entry) => [entry.resourceId, entry]))
    const jitter = this.#options.random()
    for (const resource of asked) {
      const entry = byId.get(resource.id)
      if (entry === undefined) resource.leftOut(now.nowMs)
      else resource.answered(entry, sent, now, jitter)
    }
    this.#failures = 0
  }

  #failed(error: unknown): void {
    this.#service = undefined
    this.#master = undefined
    this.#lastError = String(error)
    this.#failures++
    this.#failedMs = this.#options.clock()
    this.#jitter = 1 + RETRY_JITTER * this.#options.random()
    // Includes resources that were added meanwhile: they do not wait longer than the others.
    for (const resource of this.#resources) resource.failed()
  }

  #instanceId(): string {
    this.#instance ??= randomId(this.#options.random)
    return this.#instance
  }

  #moment(): Moment {
    return { nowMs: this.#options.clock(), wallMs: this.#options.wallClock() }
  }
}
