import type { After } from '../../clock.js'
import type { ClockBelief } from '../clock/state.js'
import type { SharedClockRule } from './shared-rule.js'

/** Sums are taken over slots of this part of a period. */
export const SLOTS = 5

/**
 * Most flows in a report or a lease, for each 100 ms of a period; and of those that lag behind the clock by this part
 * of the credit. A shorter period has as many: only the cost per second is bounded, and a process that has not yet been
 * told of a flow takes it for a new one.
 */
const FLOWS = 16
const FAR_FLOWS = 4
export const NEAR_CREDIT = 0.5
/** Upper bound of that, as a multiple. */
const MOST_TIMES = 16

/** Most flows in a report or a lease, with one per `periodMs`. */
export function flowsNamed(periodMs: number): { readonly all: number; readonly far: number } {
  const times = Math.min(MOST_TIMES, Math.max(1, periodMs / 100))
  return { all: Math.floor(FLOWS * times), far: Math.floor(FAR_FLOWS * times) }
}

/** Most flows to which a process gives numbers for its reports. */
export const MOST_NUMBERED = 1024

/** Number of periods over which sums per flow decay. */
export const FLOW_PERIODS = 10

/** Requests, and their cost. */
export type Amount = [requests: number, cost: number]

/** Outcomes of requests that were admitted in slot `letIn`. */
export interface Ended {
  readonly letIn: number
  readonly success: Amount
  readonly failure: Amount
  readonly ignored: Amount
  /** Expected failures among the successes and failures, by their flows. */
  readonly expected: number
}

/** Events in one process in one slot. */
export interface SlotSums {
  /** Number of the slot, by the arbiter's clock. */
  readonly slot: number
  readonly letIn: Amount
  readonly refused: Amount
  /** Requests of known flows, and those of them whose flow was ahead of the clock. */
  readonly known: number
  readonly ahead: number
  /** Admitted requests of flows at their limit although nothing was left. */
  readonly strained: number
  readonly ended: readonly Ended[]
  /** Cost due beyond the admissions; below 0: refunded. */
  readonly settled: number
}

/**
 * A flow was charged `charge` units of the clock's time and asked for a cost of `asked`. Before that its tag was `lead`
 * ahead of the clock's state at the end of the period.
 */
export type FlowCharge = readonly [flow: string, lead: number, charge: number, asked: number]

/** Events in one process in one period. */
export interface PeriodSums {
  /** Number of the period, by the arbiter's clock. */
  readonly period: number
  readonly slots: readonly SlotSums[]
  readonly flows: readonly FlowCharge[]
}

/** A flow's name, and its number in reports. */
export type FlowName = readonly [id: number, flow: string]

/** As {@link FlowCharge}, by the flow's number. */
export type NumberedCharge = readonly [id: number, lead: number, charge: number, asked: number]

/** The same in a report: flows by their numbers, and only the names that the arbiter may not know yet. */
export interface ReportedPeriod extends Omit<PeriodSums, 'flows'> {
  readonly names: readonly FlowName[]
  readonly flows: readonly NumberedCharge[]
}

/** A process's first message, also sent after some periods without an answer of the arbiter. */
export interface ClockGreeting {
  readonly credit: number
  readonly probe: number
  readonly belief: ClockBelief
  /** True if that is the state of an earlier arbiter, for all processes together. */
  readonly following: boolean
  /** True if the process sees no shortage: it joins only if others share one. */
  readonly asking: boolean
}

/** A process's report to the arbiter: sums of its latest periods, nothing about single requests. */
export interface ClockReport {
  /** The process, by a random name for its lifetime. */
  readonly member: string
  /** By the process's own clock, in milliseconds. */
  readonly sentAtMs: number
  readonly greeting?: ClockGreeting
  readonly periods: readonly ReportedPeriod[]
}

/** A recently charged flow: its tag, and its demand in all processes, in cost per second. */
export type FlowTag = readonly [flow: string, tag: number, askedPerSecond: number]

/** The arbiter's message to a process. Valid for 1.5 seconds after its arrival. */
export interface ClockLease {
  /** The arbiter, by a random name. */
  readonly arbiter: string
  readonly periodMs: number
  /** Number of the last period included in the state. */
  readonly period: number
  readonly belief: ClockBelief
  /** Number of processes that share the clock. */
  readonly members: number
  /** This process's part of the recent admissions: 0 to 1. */
  readonly part: number
  /** The last reported period of this process. */
  readonly heard: number
  /**
   * Sending time of its last report, by its own clock; arrival time of that, and sending time of this, by the
   * arbiter's.
   */
  readonly sentAtMs: number
  readonly heardAtMs: number
  readonly atMs: number
  readonly flows: readonly FlowTag[]
}

/**
 * The connection between the processes that share a clock and their arbiter. Reports and leases are text, usually of a
 * few hundred bytes and at most 64 KiB. Lost messages are sent again.
 */
export interface ClockLink {
  /**
   * Joins the clock called `name`: the link calls `hear` with every lease for this process. Returns the function that
   * sends reports, which must neither throw nor wait; `member` is the process's random name. A delay on the way is
   * passed as `waitedMs`.
   */
  join(name: string, hear: (lease: string, waitedMs?: number) => void): (report: string, member: string) => void
  /**
   * A timer, which must not keep the process alive: reports are then sent at the end of their period. Without one they
   * are sent with the next request, and the arbiter waits for the process whose last request that is.
   */
  readonly after?: After
  /** Supplied by the links that share in bundles for workers and browsers, which lack it; custom links need none. */
  readonly clock?: typeof SharedClockRule
}

/** Sharing of the clock by a process. */
export interface Sharing {
  /** Name of the clock: all processes with this name share it. */
  readonly name: string
  /** The keeper of the clock, by a random name: a new keeper has a new one. */
  readonly arbiter: string
  /** Number of processes that share it. */
  readonly members: number
  /** This process's part of the admissions: 0 to 1. */
  readonly part: number
  /** Time since the last message of the arbiter, in milliseconds. */
  readonly ageMs: number
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }
/** The sums of a slot while they are counted; its outcomes by the slots of their admissions. */
type CountedSlot = Writable<Omit<SlotSums, 'ended'>> & { ended: Map<number, Writable<Ended>> }

/** A slot that begins. */
export function noSums(slot: number): CountedSlot {
  return { slot, letIn: [0, 0], refused: [0, 0], known: 0, ahead: 0, strained: 0, ended: new Map(), settled: 0 }
}

/** Counts one more request. */
export function count(amount: Amount, cost: number): void {
  amount[0]++
  amount[1] += cost
}
