import type { ClockBelief } from '../clock/fair-clock.js'

/** Sums are taken over slots of this part of a period. */
export const SLOTS = 5

/** Flows that a report or a lease names at most. */
export const MOST_FLOWS = 24

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

/** What a process tells the arbiter, as plain JSON: sums of its latest periods, nothing of single requests. */
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

/** What the arbiter tells a process, as plain JSON. Good for a second after it is heard. */
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

/** The way from the processes that share a clock to their arbiter, and back. What it loses is sent again. */
export interface ClockLink {
  /**
   * Joins those who share the clock called `name`: `hear` is to be called with every lease that comes. Gives the
   * function by which reports are sent, which must neither throw nor wait.
   */
  join(name: string, hear: (lease: ClockLease) => void): (report: ClockReport) => void
}

/** More than any process lets in, or hears the end of, in one slot: what a report costs the arbiter is bounded. */
const MOST_REQUESTS = 20_000
const MOST_COST = 1e15
const MOST_PERIODS = 100
const MOST_ENDED = 2_000
const MOST_TEXT = 1_000
const BELIEVED = [
  'time',
  'rate',
  'meanCost',
  'usual',
  'deliverable',
  'capacity',
  'left',
  'owed',
  'fill',
  'floor',
  'reserve',
  'most',
]

/** Whether a message that came from another process is a report. Anything else is to be passed over. */
export function isReport(value: unknown): value is ClockReport {
  if (!isRecord(value)) return false
  const { member, sentAtMs, greeting, periods } = value
  return (
    isText(member) &&
    isCost(sentAtMs) &&
    (greeting === undefined || isGreeting(greeting)) &&
    isListOf(periods, MOST_PERIODS, isPeriod)
  )
}

/** Whether a message that came from the arbiter is a lease. */
export function isLease(value: unknown): value is ClockLease {
  if (!isRecord(value)) return false
  const { arbiter, periodMs, period, belief, members, part, heard, sentAtMs, heardAtMs, atMs, flows } = value
  return (
    isText(arbiter) &&
    isCost(periodMs) &&
    periodMs > 0 &&
    [period, members, part, heard, sentAtMs, heardAtMs, atMs].every(isCost) &&
    isBelief(belief) &&
    isListOf(flows, MOST_FLOWS, (flow) => isFlow(flow, 3))
  )
}

function isGreeting(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { credit, probe, belief, following } = value
  return isCost(credit) && isCost(probe) && isBelief(belief) && typeof following === 'boolean'
}

function isBelief(value: unknown): boolean {
  if (!isRecord(value) || typeof value['open'] !== 'boolean' || typeof value['looking'] !== 'boolean') return false
  return BELIEVED.every((name) => isCost(value[name])) && Number(value['rate']) > 0 && Number(value['meanCost']) > 0
}

function isPeriod(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { period, slots, flows } = value
  return isCost(period) && isListOf(slots, 2 * SLOTS, isSlot) && isListOf(flows, MOST_FLOWS, (flow) => isFlow(flow, 4))
}

function isSlot(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { slot, letIn, refused, known, ahead, strained, ended, settled } = value
  return (
    [slot, settled].every(isCost) &&
    [known, ahead, strained].every(isCount) &&
    isAmount(letIn) &&
    isAmount(refused) &&
    isListOf(ended, MOST_ENDED, isEnded)
  )
}

function isEnded(value: unknown): boolean {
  if (!isRecord(value)) return false
  return isCost(value['letIn']) && [value['success'], value['failure'], value['ignored']].every(isAmount)
}

function isFlow(value: unknown, length: number): boolean {
  return Array.isArray(value) && value.length === length && isText(value[0]) && value.slice(1).every(isCost)
}

function isAmount(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && isCount(value[0]) && isCost(value[1]) && value[1] >= 0
}

function isCount(value: unknown): boolean {
  return isCost(value) && value >= 0 && value <= MOST_REQUESTS
}

function isCost(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= MOST_COST
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MOST_TEXT
}

function isListOf(value: unknown, most: number, isOne: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length <= most && value.every(isOne)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
