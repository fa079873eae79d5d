import type { Random } from '@fairlead/core'
import { Heap } from './heap.js'

/** The resources of the service at a time. */
export interface Machine {
  /**
   * `sharing`: cores that all requests share evenly, one core each at most; each c requests beyond the c cores make
   * all work longer by `thrashing`. `servers`: c servers, which take requests in the order of arrival.
   */
  kind: 'sharing' | 'servers'
  /** Cores or servers. */
  cores: number
  /** Mean work of a request on a core of its own, in milliseconds. */
  workMs: number
  /**
   * Time that a request then spends elsewhere, without a limit on the number; or a function that draws it for a request
   * that starts at `nowMs`. @default 0
   */
  elsewhereMs?: number | ((random: Random, nowMs: number) => number)
  /** Share of the requests that need more work, and the additional work, in milliseconds. @default none */
  slowShare?: number
  slowWorkMs?: number
  /** Share of the requests that need no work here, such as hits of a cache, and take a millisecond. @default none */
  quickShare?: number
  /** Growth of all work for each c requests beyond the c cores. @default 0.1 */
  thrashing?: number
  /** Distribution of the work about its mean. @default 'exponential' */
  spread?: 'exponential' | 'none'
  /** Time after which the service gives up a request on shared cores: it works on it no longer. @default never */
  timeoutMs?: number
}

export interface Job {
  startedMs: number
  workMs: number
  elsewhereMs: number
  /** The machine refuses the request. */
  failed: boolean
  /** The time is up. */
  givenUp?: boolean
  /** No longer on the cores. */
  worked?: boolean
}

/** A service in which requests run: computes when the next one ends. Change `machine` at any time. */
export class Service {
  #machine: Machine
  #nowMs = 0
  /** Work that each running request has received since the start: all receive the same (`sharing`). */
  #attained = 0
  /** By the value of `#attained` at which they are finished. */
  readonly #sharing: Heap<Job> = new Heap()
  /** By the time of their end. */
  readonly #served: Heap<Job> = new Heap()
  readonly #elsewhere: Heap<Job> = new Heap()
  /** By the time at which the request is given up. */
  readonly #timeouts: Heap<Job> = new Heap()
  /** Requests in `#sharing` that were given up. */
  #givenUp = 0
  #queue: Job[] = []
  #queueHead = 0

  constructor(machine: Machine) {
    this.#machine = machine
  }

  get machine(): Machine {
    return this.#machine
  }

  /** Running requests keep their work. */
  change(machine: Machine): void {
    this.#machine = machine
    this.#serve()
  }

  start(job: Job): void {
    if (job.workMs === 0) this.#elsewhere.push(this.#nowMs + job.elsewhereMs, job)
    else if (this.#machine.kind === 'sharing') {
      this.#sharing.push(this.#attained + job.workMs, job)
      const { timeoutMs } = this.#machine
      if (timeoutMs !== undefined) this.#timeouts.push(this.#nowMs + timeoutMs, job)
    } else {
      this.#queue.push(job)
      this.#serve()
    }
  }

  /** Time of the next event inside the service; Infinity if nothing runs. */
  get nextMs(): number {
    while (this.#sharing.first?.givenUp) {
      this.#sharing.pop()
      this.#givenUp--
    }
    while (this.#timeouts.first?.worked) this.#timeouts.pop()
    const left = this.#sharing.least - this.#attained
    const sharedMs = this.#sharing.size === 0 ? Number.POSITIVE_INFINITY : this.#nowMs + left / this.#speed()
    return Math.min(sharedMs, this.#served.least, this.#elsewhere.least, this.#timeouts.least)
  }

  /** Advances to `nowMs`, at most `nextMs`; a request that ends exactly then has not ended yet. */
  pass(nowMs: number): void {
    if (this.#sharing.size > 0) this.#attained += (nowMs - this.#nowMs) * this.#speed()
    this.#nowMs = nowMs
  }

  /** Advances to `nowMs`, at most `nextMs`; returns the request that ended exactly then, if any. */
  advance(nowMs: number): Job | undefined {
    const due = this.nextMs <= nowMs
    this.pass(nowMs)
    if (!due) return undefined
    if (this.#elsewhere.least <= nowMs) return this.#elsewhere.pop()
    let job: Job
    if (this.#timeouts.least <= nowMs) {
      job = this.#timeouts.pop()
      job.givenUp = true
      this.#givenUp++
      return job
    }
    if (this.#served.least <= nowMs) {
      job = this.#served.pop()
      this.#serve()
    } else {
      this.#attained = Math.max(this.#attained, this.#sharing.least)
      job = this.#sharing.pop()
      job.worked = true
    }
    if (job.elsewhereMs === 0) return job
    this.#elsewhere.push(nowMs + job.elsewhereMs, job)
    return undefined
  }

  /** Work that a running request receives per millisecond. */
  #speed(): number {
    const running = this.#sharing.size - this.#givenUp
    const { cores, thrashing = 0.1 } = this.#machine
    if (running <= cores) return 1
    return cores ** 2 / (cores + thrashing * (running - cores)) / running
  }

  #serve(): void {
    while (this.#served.size < this.#machine.cores && this.#queueHead < this.#queue.length) {
      const job = this.#queue[this.#queueHead++]!
      this.#served.push(this.#nowMs + job.workMs, job)
    }
    if (this.#queueHead > 1000) {
      this.#queue = this.#queue.slice(this.#queueHead)
      this.#queueHead = 0
    }
  }
}
