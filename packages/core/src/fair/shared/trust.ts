import type { Amount, Ended, FlowCharge, PeriodSums, SlotSums } from './report.js'

// What an arbiter believes of what processes say: each may be broken. Nothing here is about their messages' form.

/** Processes that share one clock, at most. */
export const MOST_MEMBERS = 1000
/** What all claim to have let in, beside what they may: more is cut. */
const MOST_CLAIMED = 2
/** A flow asks for at most so many times what its process let in, as far as others are told. */
const MOST_ASKED = 16
/** A cost of 1 counts as much for its flow at most, where there are too few processes to know their flows' weights. */
const MOST_CHARGE = 10
/** Whether processes see the same resource is asked from so many on, and so many outcomes of each. */
const LEAST_MEMBERS = 3
const LEAST_OUTCOMES = 20
/** A share of failures that differs by more than this, and by so many standard errors, is of something else. */
const MOST_DIFFERENCE = 0.3
const SURE = 3
/** So is a mean cost that differs by this factor. */
const MOST_COSTLIER = 30
/** Outcomes that a process may tell of beyond what it told to have let in. */
const BEFORE = 200
/** Periods for which that has to go on, and those over which outcomes are summed up. */
const STRANGE_PERIODS = 20
const OUTCOME_PERIODS = 50

/** What most processes see. */
export interface Consensus {
  readonly failureShare: number
  readonly meanCost: number
  /** What flows were charged, for each cost that was let in. */
  readonly chargePerCost: number
}

/** What a process has claimed of late: fading sums. */
export class Claims {
  #successes = 0
  #failures = 0
  #requests = 0
  #cost = 0
  #strange = 0
  /** Requests let in that have not ended: some were before the process came. */
  #pending = BEFORE
  #pendingCost = 0
  /** What its flows may yet be charged. */
  #chargeable = 0
  #charged = 0

  /** The same with no more of anything than goes with what came in, and no more outcomes than there can be. */
  possible(sums: PeriodSums): PeriodSums {
    const slots = sums.slots.map((slot): SlotSums => {
      const [letIn] = slot.letIn
      this.#pending += letIn
      const known = Math.min(slot.known, letIn + slot.refused[0])
      const ended = slot.ended.filter(({ success, failure, ignored }) => {
        const requests = success[0] + failure[0] + ignored[0]
        if (requests > this.#pending) return false
        this.#pending -= requests
        return true
      })
      // What was settled is of requests that have ended, or that are given back.
      const endedCost = costOf(ended)
      const settled = Math.max(-this.#pendingCost, Math.min(endedCost, slot.settled))
      this.#pendingCost = Math.max(0, this.#pendingCost + slot.letIn[1] + settled - endedCost)
      return {
        ...slot,
        ended,
        settled,
        known,
        ahead: Math.min(slot.ahead, known),
        strained: Math.min(slot.strained, letIn),
      }
    })
    return { ...sums, slots }
  }

  add({ slots }: PeriodSums): void {
    for (const { letIn, ended } of slots) {
      this.#requests += letIn[0]
      this.#cost += letIn[1]
      for (const { success, failure } of ended) {
        this.#successes += success[0]
        this.#failures += failure[0]
      }
    }
  }

  /** True if for some time now the process cannot have told of the same resource as the others. */
  isStrange(others: Consensus): boolean {
    const { failureShare, meanCost } = this
    const error = Math.sqrt(0.25 / Math.max(1, this.#outcomes))
    const fails = Math.abs(failureShare - others.failureShare) > MOST_DIFFERENCE + SURE * error
    const ratio = meanCost / others.meanCost
    const costs = ratio > MOST_COSTLIER || ratio < 1 / MOST_COSTLIER
    this.#strange = (fails || costs) && this.isTelling ? this.#strange + 1 : 0
    return this.#strange > STRANGE_PERIODS
  }

  /**
   * What it says of its flows: no more than goes with what it has let in, if those are as dear to their flows as to those
   * of the others. A flow that is ahead of the clock is not charged.
   */
  flows({ slots, flows }: PeriodSums, others: Consensus | undefined): readonly FlowCharge[] {
    const letIn = slots.reduce((sum, slot) => sum + slot.letIn[1] + Math.max(0, slot.settled), 0)
    const perCost = others === undefined ? MOST_CHARGE : MOST_CLAIMED * others.chargePerCost
    this.#chargeable = Math.min(this.#chargeable + perCost * letIn, perCost * Math.max(letIn, this.#cost))
    const charged = flows.reduce((sum, [, , charge]) => sum + charge, 0)
    const fit = Math.min(1, this.#chargeable / Math.max(charged, Number.MIN_VALUE))
    this.#chargeable -= fit * charged
    this.#charged += charged
    const mostAsked = MOST_ASKED * Math.max(letIn, this.#cost / OUTCOME_PERIODS)
    return flows.map(([flow, lead, charge, asked]) => [
      flow,
      Math.min(0, lead),
      charge * fit,
      Math.min(asked, mostAsked),
    ])
  }

  fade(): void {
    const kept = Math.exp(-1 / OUTCOME_PERIODS)
    this.#successes *= kept
    this.#failures *= kept
    this.#requests *= kept
    this.#cost *= kept
    this.#charged *= kept
    this.#pendingCost *= kept
  }

  get isTelling(): boolean {
    return this.#outcomes >= LEAST_OUTCOMES && this.#requests >= LEAST_OUTCOMES / 2
  }

  get failureShare(): number {
    return this.#failures / this.#outcomes
  }

  get meanCost(): number {
    return this.#cost / this.#requests
  }

  get chargePerCost(): number {
    return this.#charged / this.#cost
  }

  get #outcomes(): number {
    return this.#successes + this.#failures
  }
}

/** Of those that tell enough, the ones in the middle; `undefined` where there are too few to know who is wrong. */
export function consensus(all: Iterable<Claims>): Consensus | undefined {
  const telling = [...all].filter((each) => each.isTelling)
  if (telling.length < LEAST_MEMBERS) return undefined
  return {
    failureShare: median(telling.map((each) => each.failureShare)),
    meanCost: median(telling.map((each) => each.meanCost)),
    chargePerCost: median(telling.map((each) => each.chargePerCost)),
  }
}

/** The lower one of two in the middle. */
export function median(values: readonly number[]): number {
  return values.toSorted((x, y) => x - y)[Math.floor((values.length - 1) / 2)] ?? 0
}

/** What processes may let in together, in cost: filled by time, and used up by what they say. */
export class Allowance {
  #left = 0

  /**
   * The sums of all in one period, which together may have let in `perSecond`, and `burst` at once. Who claims less than
   * others is believed first: only those who claim most are cut, to the same level. So nobody takes more than their
   * share by words.
   */
  within(all: readonly PeriodSums[], perSecond: number, burst: number, seconds: number): readonly PeriodSums[] {
    this.#left = MOST_CLAIMED * Math.min(this.#left / MOST_CLAIMED + perSecond * seconds, perSecond * seconds + burst)
    const claims = all.map(claimOf)
    const level = levelOf(claims, this.#left)
    if (this.#left < Number.POSITIVE_INFINITY)
      this.#left -= claims.reduce((sum, claim) => sum + Math.min(claim, level), 0)
    return all.map((sums, i) => {
      const claim = claims[i] ?? 0
      return claim > level ? { ...sums, slots: sums.slots.map((slot) => scaled(slot, level / claim)) } : sums
    })
  }
}

/** What a process says that it took of the resource, or gave back. */
function claimOf({ slots }: PeriodSums): number {
  return Math.abs(slots.reduce((sum, { letIn, settled }) => sum + letIn[1] + settled, 0))
}

/** The level at which claims are cut, so that all together are no more than `limit`: max-min. */
function levelOf(claims: readonly number[], limit: number): number {
  let left = limit
  const sorted = claims.toSorted((x, y) => x - y)
  for (const [i, claim] of sorted.entries()) {
    const level = left / (sorted.length - i)
    if (claim > level) return level
    left -= claim
  }
  return Number.POSITIVE_INFINITY
}

function scaled(slot: SlotSums, part: number): SlotSums {
  const { letIn, settled, ended, strained } = slot
  const rows = ended.map((row) => ({ ...row, ...scaledRow(row, part) }))
  const requests = scaledAmount(letIn, part)
  return { ...slot, letIn: requests, settled: settled * part, strained: Math.min(strained, requests[0]), ended: rows }
}

function scaledRow(row: Ended, part: number): Omit<Ended, 'letIn'> {
  return {
    success: scaledAmount(row.success, part),
    failure: scaledAmount(row.failure, part),
    ignored: scaledAmount(row.ignored, part),
    expected: row.expected * part,
  }
}

function costOf(rows: readonly Ended[]): number {
  return rows.reduce((sum, { success, failure, ignored }) => sum + success[1] + failure[1] + ignored[1], 0)
}

function scaledAmount([requests, cost]: Amount, part: number): Amount {
  return [Math.ceil(requests * part), cost * part]
}
