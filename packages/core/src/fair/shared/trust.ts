import type { ClockBelief } from '../clock/state.js'
import type { Amount, ClockGreeting, Ended, FlowCharge, PeriodSums, SlotSums } from './report.js'

// The arbiter's trust in reports: each process may be broken. The form of messages is checked elsewhere.

/** Most processes that share one clock. */
export const MOST_MEMBERS = 1000
/** Bound of the total claimed admissions, as a multiple of the allowance: more is cut. */
const MOST_CLAIMED = 2
/** Bound of a flow's demand in leases, as a multiple of its process's admissions. */
const MOST_ASKED = 16
/** Bound of a flow's charge per cost, if there are too few processes to know their flows' weights. */
const MOST_CHARGE = 10
/**
 * Whether processes see the same resource is tested from this number of them on, and this number of outcomes of each.
 */
const LEAST_MEMBERS = 3
const LEAST_OUTCOMES = 20
/**
 * A share of failures that differs by more than this, and by this many standard errors, belongs to another resource.
 */
const MOST_DIFFERENCE = 0.3
const SURE = 3
/** As does a mean cost that differs by this factor. */
const MOST_COSTLIER = 30
/** Bound of what one process reports, as a multiple of what most report. */
export const MOST_PART = 4
/** Outcomes that a process may report beyond its reported admissions. */
const BEFORE = 200
/** Periods for which that has to continue, and those over which outcomes are summed. */
const STRANGE_PERIODS = 20
const OUTCOME_PERIODS = 50

/** The observations of most processes. */
export interface Consensus {
  readonly failureShare: number
  readonly meanCost: number
  /** Charges of flows, per admitted cost. */
  readonly chargePerCost: number
}

/** Medians over the processes, by which the numbers of each are bounded. */
export interface Typical {
  /** Mean cost of an admission, a refusal, and an outcome. */
  readonly costs: readonly [letIn: number, refused: number, ended: number]
  /** Admitted and refused requests. */
  readonly asked: number
}

/** A decaying sum of amounts. */
class ClaimedCost {
  requests = 0
  cost = 0

  add([requests, cost]: Amount): void {
    this.requests += requests
    this.cost += cost
  }

  fade(kept: number): void {
    this.requests *= kept
    this.cost *= kept
  }

  /** `NaN` without any. */
  get mean(): number {
    return this.cost / this.requests
  }
}

/** Recent claims of a process: decaying sums. */
export class ReportedOutcomes {
  #successes = 0
  #failures = 0
  readonly #letIn = new ClaimedCost()
  readonly #refused = new ClaimedCost()
  readonly #ended = new ClaimedCost()
  /** The part of the admitted cost that is believed. */
  #believed = 1
  #strange = 0
  /** Admitted requests without an outcome: some were admitted before the process reported. */
  #pending = BEFORE
  #pendingCost = 0
  /** Cost of these, as far as settled, which their outcomes cannot exceed; `undefined` before the first admission. */
  #unended: number | undefined
  /** Possible further charges of its flows. */
  #chargeable = 0
  #charged = 0

  /** The same report, limited to amounts that match its arrivals, and to possible outcomes. */
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
      // Settled amounts belong to requests that have ended, or that are refunded.
      const endedCost = costOf(ended)
      const settled = Math.max(-this.#pendingCost, Math.min(endedCost, slot.settled))
      this.#pendingCost = Math.max(0, this.#pendingCost + slot.letIn[1] + settled - endedCost)
      return {
        ...slot,
        ended: this.#paid(slot, ended, settled),
        settled,
        known,
        ahead: Math.min(slot.ahead, known),
        strained: Math.min(slot.strained, letIn),
      }
    })
    return { ...sums, slots }
  }

  /** The outcomes at no greater cost than that of the admissions. */
  #paid({ letIn: [requests, cost] }: SlotSums, ended: readonly Ended[], settled: number): readonly Ended[] {
    if (this.#unended === undefined && requests > 0) this.#unended = (BEFORE * cost) / requests
    if (this.#unended === undefined) return ended
    const most = Math.max(0, this.#unended + cost + settled)
    const part = partOf(costOf(ended), most)
    this.#unended = Math.max(0, most - costOf(ended))
    return part === 1 ? ended : ended.map((row) => eachOf(row, (amount) => cheaper(amount, part)))
  }

  add({ slots }: PeriodSums): void {
    for (const { letIn, refused, ended } of slots) {
      this.#letIn.add(letIn)
      this.#refused.add(refused)
      for (const { success, failure, ignored } of ended) {
        this.#successes += success[0]
        this.#failures += failure[0]
        for (const amount of [success, failure, ignored]) this.#ended.add(amount)
      }
    }
  }

  /**
   * The same report with bounded costs and refusals: one number beyond all measure would make the clock useless. Where
   * routing is uneven, a process may refuse more than most, but not both that and more than it admits.
   */
  within(sums: PeriodSums, { costs, asked }: Typical): PeriodSums {
    const letIn = partOf(this.#letIn.mean, MOST_PART * costs[0])
    const refused = partOf(this.#refused.mean, MOST_PART * costs[1])
    const ended = partOf(this.#ended.mean, MOST_PART * costs[2])
    this.#believed = letIn
    const most = Math.max(this.#letIn.requests, MOST_PART * asked)
    const kept = this.#refused.requests > most ? most / this.#refused.requests : 1
    if (Math.min(letIn, refused, ended, kept) === 1) return sums
    const slots = sums.slots.map((slot) =>
      withKnown({
        ...slot,
        letIn: cheaper(slot.letIn, letIn),
        refused: cheaper(scaledAmount(slot.refused, kept), refused),
        settled: slot.settled * Math.min(letIn, ended),
        ended: slot.ended.map((row) => eachOf(row, (amount) => cheaper(amount, ended))),
      }),
    )
    return { ...sums, slots }
  }

  /** True if for some time now the process cannot have reported the same resource as the others. */
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
   * Its reported flows, limited to amounts that match its admissions, if those cost their flows as much as in other
   * processes. A flow that is ahead of the clock is not charged.
   */
  flows({ slots, flows }: PeriodSums, others: Consensus | undefined): readonly FlowCharge[] {
    const letIn = slots.reduce((sum, slot) => sum + slot.letIn[1] + Math.max(0, slot.settled), 0)
    const perCost = others === undefined ? MOST_CHARGE : MOST_CLAIMED * others.chargePerCost
    this.#chargeable = Math.min(
      this.#chargeable + perCost * letIn,
      perCost * Math.max(letIn, this.#believed * this.#letIn.cost),
    )
    const charged = flows.reduce((sum, [, , charge]) => sum + charge, 0)
    const fit = Math.min(1, this.#chargeable / Math.max(charged, Number.MIN_VALUE))
    this.#chargeable -= fit * charged
    this.#charged += charged
    const mostAsked = MOST_ASKED * Math.max(letIn, (this.#believed * this.#letIn.cost) / OUTCOME_PERIODS)
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
    for (const each of [this.#letIn, this.#refused, this.#ended]) each.fade(kept)
    this.#charged *= kept
    this.#pendingCost *= kept
  }

  get isTelling(): boolean {
    return this.#outcomes >= LEAST_OUTCOMES && this.#letIn.requests >= LEAST_OUTCOMES / 2
  }

  get failureShare(): number {
    return this.#failures / this.#outcomes
  }

  get meanCost(): number {
    return this.#letIn.mean
  }

  /** Mean cost of an admission, a refusal, and an outcome; `NaN` without any. */
  get meanCosts(): Typical['costs'] {
    return [this.#letIn.mean, this.#refused.mean, this.#ended.mean]
  }

  /** Admitted and refused requests. */
  get asked(): number {
    return this.#letIn.requests + this.#refused.requests
  }

  get chargePerCost(): number {
    return this.#charged / this.#letIn.cost
  }

  get #outcomes(): number {
    return this.#successes + this.#failures
  }
}

/** The medians of the processes with enough outcomes; `undefined` if there are too few to decide which is wrong. */
export function consensus(all: Iterable<ReportedOutcomes>): Consensus | undefined {
  const telling = [...all].filter((each) => each.isTelling)
  if (telling.length < LEAST_MEMBERS) return undefined
  return {
    failureShare: median(telling.map((each) => each.failureShare)),
    meanCost: median(telling.map((each) => each.meanCost)),
    chargePerCost: median(telling.map((each) => each.chargePerCost)),
  }
}

/** What most processes report; `undefined` if there are too few to decide which is wrong. */
export function typical(all: readonly ReportedOutcomes[]): Typical | undefined {
  const active = all.filter(({ asked }) => asked > 0)
  if (active.length < LEAST_MEMBERS) return undefined
  // Where few refuse, or have outcomes yet, those cost as much as any request.
  const costOf = (kind: number, otherwise: number): number => {
    const means = active.map(({ meanCosts }) => meanCosts[kind]!).filter((mean) => !Number.isNaN(mean))
    return means.length < LEAST_MEMBERS ? otherwise : median(means)
  }
  const letIn = costOf(0, Number.POSITIVE_INFINITY)
  return { costs: [letIn, costOf(1, letIn), costOf(2, letIn)], asked: median(active.map(({ asked }) => asked)) }
}

/** The lower one of two in the middle. */
function median(values: readonly number[]): number {
  return values.toSorted((x, y) => x - y)[Math.floor((values.length - 1) / 2)] ?? 0
}

/** The amounts of a state, none below 0. */
const BELIEF_AMOUNTS = ['rate', 'meanCost', 'usual', 'deliverable', 'fill', 'floor', 'reserve', 'most'] as const
type BeliefAmount = (typeof BELIEF_AMOUNTS)[number]

/**
 * The state from which an arbiter starts, after the latest of these greetings; `undefined` if that changes nothing. If
 * half of the processes had an arbiter before, which told all the same, it is the median of theirs; otherwise the sum
 * of the parts of the others, if most of them see a shortage. No part counts as much larger than most.
 */
export function gathered(greetings: readonly ClockGreeting[]): ClockBelief | undefined {
  const followers = greetings.filter(({ following }) => following)
  // One of several may say that it was told anything.
  const goesOn = 2 * followers.length >= greetings.length
  if (goesOn && greetings.at(-1)?.following === false) return undefined
  const heard = goesOn ? followers : greetings.filter(({ following }) => !following)
  const beliefs = heard.map(({ belief }) => belief)
  const short = beliefs.filter(({ open }) => !open)
  const isShort = 2 * short.length > beliefs.length
  if (goesOn || !isShort) return usualOf(isShort ? short : beliefs.filter(({ open }) => open))
  const parts = short.map(({ deliverable }) => deliverable)
  const most = MOST_PART * median(parts)
  const deliverable = parts.reduce((all, part) => all + Math.min(part, most), 0)
  return { ...usualOf(short), deliverable, rate: median(short.map(({ rate }) => rate)) }
}

/** The median state, of which no amount is much larger or smaller than most. */
function usualOf(beliefs: readonly ClockBelief[]): ClockBelief {
  const sorted = beliefs.toSorted((x, y) => x.deliverable - y.deliverable || x.rate - y.rate)
  const middle = sorted[Math.floor((sorted.length - 1) / 2)]!
  const bounded = (name: BeliefAmount): number => {
    const usual = median(beliefs.map((belief) => belief[name]))
    return Math.min(Math.max(middle[name], usual / MOST_PART), MOST_PART * usual)
  }
  const amounts = Object.fromEntries(BELIEF_AMOUNTS.map((name) => [name, bounded(name)])) as Pick<
    ClockBelief,
    BeliefAmount
  >
  const within = (account: number): number => Math.max(-amounts.most, Math.min(account, amounts.most))
  return { ...middle, ...amounts, left: within(middle.left), owed: within(middle.owed) }
}

/** Cost that processes may admit together: filled over time, and consumed by their reports. */
export class Allowance {
  #left = 0

  /**
   * The sums of all in one period, which together may have admitted `perSecond`, and `burst` at once. Smaller claims
   * are trusted first: only the largest are cut, to the same level. So no process gets more than its share by false
   * reports.
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

/** A process's claim of the resource, or its refund. */
function claimOf({ slots }: PeriodSums): number {
  return Math.abs(slots.reduce((sum, { letIn, settled }) => sum + letIn[1] + settled, 0))
}

/** The level at which claims are cut, so that their sum is at most `limit`: max-min. */
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
  const { letIn, refused, settled, ended, strained } = slot
  const rows = ended.map((row) => ({
    ...eachOf(row, (amount) => scaledAmount(amount, part)),
    expected: row.expected * part,
  }))
  const requests = scaledAmount(letIn, part)
  const cut = { letIn: requests, refused: scaledAmount(refused, part), settled: settled * part, ended: rows }
  return withKnown({ ...slot, ...cut, strained: Math.min(strained, requests[0]) })
}

/** The part of an amount that is at most `most`; all of it if either is unknown. */
function partOf(amount: number, most: number): number {
  return amount > most ? most / amount : 1
}

/** A row with each of its amounts changed. */
function eachOf(row: Ended, change: (amount: Amount) => Amount): Ended {
  return { ...row, success: change(row.success), failure: change(row.failure), ignored: change(row.ignored) }
}

function cheaper([requests, cost]: Amount, part: number): Amount {
  return [requests, cost * part]
}

/** No more known flows' requests than requests. */
function withKnown(slot: SlotSums): SlotSums {
  const known = Math.min(slot.known, slot.letIn[0] + slot.refused[0])
  return { ...slot, known, ahead: Math.min(slot.ahead, known) }
}

function costOf(rows: readonly Ended[]): number {
  return rows.reduce((sum, { success, failure, ignored }) => sum + success[1] + failure[1] + ignored[1], 0)
}

function scaledAmount([requests, cost]: Amount, part: number): Amount {
  return [Math.ceil(requests * part), cost * part]
}
