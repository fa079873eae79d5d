import type { Random } from '@fairlead/core'
import { manualClock, seededRandom } from '@fairlead/core/testing'
import type { Rule, RuleOf } from './rule.js'

/** Cost of a request: a number, or a whole number from the first to the second, drawn anew for each request. */
type Cost = number | readonly [number, number]

/** A tenant that asks. Times are parts of the window. */
export interface Asker {
  readonly name: string
  /** @default 1 */
  readonly weight?: number
  /** Costs of its requests, in order; the last one applies to all that follow. */
  readonly costs: readonly Cost[]
  /** Mean interval between two requests. */
  readonly every: number
  /** Another rate, from some time on. */
  readonly later?: { readonly from: number; readonly every: number }
  /** When the first one arrives. @default at random, within `every` */
  readonly from?: number
  /** Number of requests. @default as many as there is time for */
  readonly requests?: number
  /** It stops after it was admitted this amount. @default it never does */
  readonly enough?: number
  /** Whether a refused request returns: when it was told to, or before the next request. @default true */
  readonly returns?: boolean
}

/** A window, without its seed. */
export interface Story {
  readonly limit: number
  readonly askers: readonly Asker[]
}

export interface Told {
  readonly used: number
  readonly by: ReadonlyMap<string, number>
  /** Used at each hundredth of the window, from 0 to 100. */
  readonly course: readonly number[]
  /** The largest cost among requests that were refused when they last asked; 0 if there is none. */
  readonly wanting: number
  /**
   * Upper bound of the rest: less than that cost, and the units that an even pace still reserved for others at the last
   * refusal. A tenant that asks until the end leaves less than the cost.
   */
  readonly mayBeLeft: number
}

const WINDOW_MS = 1_000
const STEPS = 100

/** Runs a window. Times and costs of requests depend on the seed alone. */
export function play({ limit, askers }: Story, ruleOf: RuleOf, seed: number): Told {
  const clock = manualClock()
  const weights = new Map(askers.map(({ name, weight = 1 }) => [name, weight]))
  const weightOf = (tenant: string): number => weights.get(tenant)!
  const rule = ruleOf({ limit, windowMs: WINDOW_MS, weightOf, clock })
  const tenants = askers.map((asker, i) => new Tenant(asker, rule, seed + (i + 1) / 1_000))
  const course: number[] = []
  const used = (): number => tenants.reduce((sum, { admitted }) => sum + admitted, 0)
  for (;;) {
    const next = tenants.reduce((first, each) => (each.nextMs < first.nextMs ? each : first))
    while (course.length <= STEPS && (course.length * WINDOW_MS) / STEPS <= next.nextMs) course.push(used())
    if (next.nextMs >= WINDOW_MS) break
    clock.advance(next.nextMs - clock())
    next.ask()
  }
  const wanting = Math.max(...tenants.map((tenant) => tenant.wanting))
  const refusedMs = Math.max(...tenants.map((tenant) => (tenant.wanting === wanting ? tenant.askedMs : 0)))
  return {
    used: used(),
    by: new Map(tenants.map(({ name, admitted }) => [name, admitted])),
    course,
    wanting,
    mayBeLeft: wanting + (1 - refusedMs / WINDOW_MS) * limit,
  }
}

/** A tenant in a window. */
class Tenant {
  admitted = 0
  /** The cost that was refused last; 0 if it was admitted. */
  wanting = 0
  /** When it last asked. */
  askedMs = 0
  readonly #asker: Asker
  readonly #rule: Rule
  readonly #random: Random
  #arrivalMs: number
  #returnMs: number = Number.POSITIVE_INFINITY
  /** Requests that have arrived, and those that were admitted or dropped. */
  #come = 0
  #gone = 0
  #cost: number | undefined

  constructor(asker: Asker, rule: Rule, seed: number) {
    const random = seededRandom(seed)
    const { from = asker.every * random() } = asker
    this.#asker = asker
    this.#rule = rule
    this.#random = random
    this.#arrivalMs = from * WINDOW_MS
  }

  get name(): string {
    return this.#asker.name
  }

  get nextMs(): number {
    return this.#isContent ? Number.POSITIVE_INFINITY : Math.min(this.#arrivalMs, this.#returnMs)
  }

  get #isContent(): boolean {
    return this.admitted >= (this.#asker.enough ?? Number.POSITIVE_INFINITY)
  }

  /** Asks for all due requests, until one is refused. */
  ask(): void {
    const { returns = true } = this.#asker
    const nowMs = this.nextMs
    if (this.#arrivalMs <= nowMs) {
      this.#come++
      this.#arrivalMs += this.#gapMs(nowMs)
    }
    this.#returnMs = Number.POSITIVE_INFINITY
    while (this.#gone < this.#come && !this.#isContent) {
      this.#cost ??= this.#draw()
      const { allowed, retryAfterMs } = this.#rule.check(this.name, this.#cost)
      this.wanting = allowed ? 0 : this.#cost
      this.askedMs = nowMs
      if (allowed) this.admitted += this.#cost
      else if (returns) {
        this.#returnMs = nowMs + retryAfterMs
        return
      }
      this.#cost = undefined
      this.#gone++
    }
  }

  #gapMs(nowMs: number): number {
    const { every, later, requests = Number.POSITIVE_INFINITY } = this.#asker
    if (this.#come >= requests) return Number.POSITIVE_INFINITY
    const pace = later !== undefined && nowMs >= later.from * WINDOW_MS ? later.every : every
    return pace * WINDOW_MS * (0.5 + this.#random())
  }

  #draw(): number {
    const { costs } = this.#asker
    const cost = costs[Math.min(this.#gone, costs.length - 1)]!
    if (typeof cost === 'number') return cost
    const [least, most] = cost
    return least + Math.floor(this.#random() * (most - least + 1))
  }
}
