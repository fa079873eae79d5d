import type { After } from '../../clock.js'
import type { ClockBelief } from '../clock/belief.js'
import type { SharedClock } from './member.js'

/** Sums are taken over slots of this part of a period. */
export const SLOTS = 5

/**
 * Flows that a report or a lease names at most, for each 100 ms of a period; and of those that lag behind the clock by
 * this part of the credit. A shorter period has as many: only what a second costs is bounded, and a process that has yet
 * to hear of a flow takes it for a new one.
 */
const FLOWS = 16
const FAR_FLOWS = 4
export const NEAR_CREDIT = 0.5
/** More than this many times as many are never named. */
const MOST_TIMES = 16
export const MOST_FLOWS: number = MOST_TIMES * FLOWS

/** How many flows a report or a lease names at most, where there is one in `periodMs`. */
export function flowsNamed(periodMs: number): { readonly all: number; readonly far: number } {
  const times = Math.min(MOST_TIMES, Math.max(1, periodMs / 100))
  return { all: Math.floor(FLOWS * times), far: Math.floor(FAR_FLOWS * times) }
}

/** Of the random names of processes and arbiters: 48 bits tell them apart, and go with every message. */
export const NAME_LENGTH = 12

/** Sums per flow fade over so many periods. */
export const FLOW_PERIODS = 10

/** Requests, and their cost. */
export type Amount = [requests: number, cost: number]

/** How requests ended that were let in in slot `letIn`. */
export interface Ended {
  readonly letIn: number
  readonly success: Amount
  readonly failure: Amount
  readonly ignored: Amount
  /** Of those that succeeded or failed, so many were to be expected to fail, by their flows. */
  readonly expected: number
}

/** What happened in one process in one slot. */
export interface SlotSums {
  /** Number of the slot, by the arbiter's clock. */
  readonly slot: number
  readonly letIn: Amount
  readonly refused: Amount
  /** Requests of known flows, and those of them whose flow was ahead of the clock. */
  readonly known: number
  readonly ahead: number
  /** Requests of flows at their limit that were let in though nothing was left. */
  readonly strained: number
  readonly ended: readonly Ended[]
  /** Cost that turned out to be due beyond what was let in; below 0: given back. */
  readonly settled: number
}

/**
 * A flow was charged `charge` units of the clock's time and asked for a cost of `asked`. Before that its tag was `lead`
 * ahead of where the clock was at the end of the period.
 */
export type FlowCharge = readonly [flow: string, lead: number, charge: number, asked: number]

/** What happened in one process in one period. */
export interface PeriodSums {
  /** Number of the period, by the arbiter's clock. */
  readonly period: number
  readonly slots: readonly SlotSums[]
  readonly flows: readonly FlowCharge[]
}

/** What a process says at first, and when it has not heard of the arbiter for some periods. */
export interface ClockGreeting {
  readonly credit: number
  readonly probe: number
  readonly belief: ClockBelief
  /** True if that is the belief of an arbiter before, of all processes together. */
  readonly following: boolean
}

/** What a process tells the arbiter: sums of its latest periods, nothing of single requests. */
export interface ClockReport {
  /** The process, by a random name that it has for as long as it lives. */
  readonly member: string
  /** By the process's own clock, in milliseconds. */
  readonly sentAtMs: number
  readonly greeting?: ClockGreeting
  readonly periods: readonly PeriodSums[]
}

/** A flow that was charged lately: its tag, and the cost per second that it asks for in all processes. */
export type FlowTag = readonly [flow: string, tag: number, askedPerSecond: number]

/** What the arbiter tells a process. Good for 1.5 seconds after it is heard. */
export interface ClockLease {
  /** The arbiter, by a random name. */
  readonly arbiter: string
  readonly periodMs: number
  /** Number of the last period that the belief takes account of. */
  readonly period: number
  readonly belief: ClockBelief
  /** How many processes share the clock. */
  readonly members: number
  /** Which part of what was let in of late was let in by this process: 0 to 1. */
  readonly part: number
  /** The last period that was heard of from this process. */
  readonly heard: number
  /** When its last report was sent, by its own clock; when that was heard, and this was sent, by the arbiter's. */
  readonly sentAtMs: number
  readonly heardAtMs: number
  readonly atMs: number
  readonly flows: readonly FlowTag[]
}

/**
 * The way from the processes that share a clock to their arbiter, and back. Reports and leases are text, of a few hundred
 * bytes as a rule and 64 KiB at most. What the link loses is sent again.
 */
export interface ClockLink {
  /**
   * Joins those who share the clock called `name`: `hear` is to be called with every lease that comes for this process.
   * Gives the function by which reports are sent, which must neither throw nor wait; `member` is the process's random
   * name. What was kept somewhere on its way for some time is heard with that time, `waitedMs`.
   */
  join(name: string, hear: (lease: string, waitedMs?: number) => void): (report: string, member: string) => void
  /**
   * A timer, which must not keep the process alive: reports then leave when their period ends. Without one they leave
   * with the next request, and the arbiter waits for the process of which that is the last.
   */
  readonly after?: After
  /**
   * Brought along by the links that share where the bundle for workers and browsers has nothing of it; none of your own
   * needs one.
   */
  readonly clock?: typeof SharedClock
}
