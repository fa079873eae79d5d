import { claimOf } from './level.js'
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
  readonly behind: Sum
  readonly ahead: Sum
  readonly over: Sum
  /** Its last call, and what else it was answered. */
  seq: number
  grant: number
  held: number
  room: number
  waitMs: number
}

export function newMember(seenMs: number, seq: number, weight: number): Member {
  const none = { weight: 0, used: 0 }
  return {
    seenMs,
    hasCalled: false,
    granted: 0,
    idle: 0,
    quiet: { weight, used: 0 },
    behind: { ...none },
    ahead: { ...none },
    over: { ...none },
    seq,
    grant: 0,
    held: 0,
    room: 0,
    waitMs: 0,
  }
}

/**
 * What the tenants of a member claim at it, as two sums: those ahead of an even pace within their guarantees; and those
 * behind it, and those that it has not named.
 */
export function claimOfMember({ quiet, behind, ahead }: Member, level: number, elapsed: number): number {
  const within = { weight: Math.max(0, ahead.weight), granted: Math.max(0, ahead.used) }
  const rest = { weight: quiet.weight + Math.max(0, behind.weight), granted: quiet.used + Math.max(0, behind.used) }
  return claimOf(within, level, elapsed) + claimOf(rest, level, elapsed)
}

export function weightOf({ quiet, behind, ahead, over }: Member): number {
  return quiet.weight + Math.max(0, behind.weight) + Math.max(0, ahead.weight) + Math.max(0, over.weight)
}
