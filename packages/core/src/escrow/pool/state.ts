import type { Claimant } from './level.js'
import type { Sum, Weighed } from './tenants.js'

/** What the pool knows of itself. */
export interface Head {
  win: number
  /** The latest time seen. */
  nowMs: number
  epoch: number
  rev: number
  /** Credit granted to all members together in this window, and what of that since the epoch began. */
  granted: number
  since: number
  /** What a weight of 1 was guaranteed at the last call. */
  level: number
  /** When the pool noticed that it does not know of everything that was granted; and in which epoch. */
  lostMs: number
  lostEpoch: number
  /** Members of an earlier epoch that have called since, and those that should. */
  heard: number
  awaited: number
  /** The same of those that knew the window before only. */
  heardOfLast: number
  awaitedOfLast: number
  /** Which window, epoch and answer the best informed of them knew. */
  informedWin: number
  informedEpoch: number
  informedRev: number
}

/** Nobody is to be heard. */
export const NOT_LOST = {
  heard: 0,
  awaited: 0,
  heardOfLast: 0,
  awaitedOfLast: 0,
  informedWin: -1,
  informedEpoch: -1,
  informedRev: -1,
}

export function newHead(): Head {
  return {
    win: -2,
    nowMs: Number.NEGATIVE_INFINITY,
    epoch: 0,
    rev: 0,
    granted: 0,
    since: 0,
    level: Number.MAX_VALUE,
    lostMs: 0,
    lostEpoch: -1,
    ...NOT_LOST,
  }
}

/** What the pool knows of a member: what it said last, and what it was answered. */
export interface Member extends Weighed {
  /** When it last called, on the pool's time; the window's beginning for one that has not called in it. */
  seenMs: number
  hasCalled: boolean
  granted: number
  /** Credit that it had not spent. */
  idle: number
  /** Tenants that it did not report by name. */
  quiet: Sum
  wants: Sum
  readonly behind: Sum
  readonly ahead: Sum
  readonly over: Sum
  /** Its last call, and what else it was answered. */
  seq: number
  grant: number
  held: number
  waitMs: number
  /** The need it was refused, and until when it waits with that. */
  ask: number
  askUntilMs: number
}

export function newMember(seenMs: number, seq: number, weight: number): Member {
  const none = { weight: 0, used: 0 }
  return {
    seenMs,
    hasCalled: false,
    granted: 0,
    idle: 0,
    quiet: { weight, used: 0 },
    wants: none,
    behind: { ...none },
    ahead: { ...none },
    over: { ...none },
    seq,
    grant: 0,
    held: 0,
    waitMs: 0,
    ask: 0,
    askUntilMs: 0,
  }
}

/**
 * Its tenants that are ahead of an even pace within their guarantees, those that it did not name among them. Credit
 * that lies idle will be theirs, if there are any.
 */
export function ahead({ wants, ahead: { weight, used }, idle }: Member): Claimant {
  const sum = wants.weight + Math.max(0, weight)
  return { weight: sum, granted: wants.used + Math.max(0, used) + (sum > 0 ? idle : 0) }
}

/** Its tenants that are behind an even pace, or want nothing more. */
export function behind(member: Member): Claimant {
  const { quiet, behind: sum, idle } = member
  const granted = quiet.used + Math.max(0, sum.used) + (ahead(member).weight > 0 ? 0 : idle)
  return { weight: quiet.weight + Math.max(0, sum.weight), granted }
}

/** Its tenants that want more than an even pace allows. */
export function wanting({ wants, ahead: within, over, idle }: Member): Claimant {
  const weight = wants.weight + Math.max(0, within.weight) + Math.max(0, over.weight)
  return { weight, granted: wants.used + Math.max(0, within.used) + Math.max(0, over.used) + idle }
}

export function weightOf(member: Member): number {
  return ahead(member).weight + behind(member).weight + Math.max(0, member.over.weight)
}
