import type { ClockBelief } from '../clock/state.js'
import { DigitReader, DigitWriter, MALFORMED } from './digits.js'
import {
  type Amount,
  type ClockGreeting,
  type ClockLease,
  type ClockReport,
  type Ended,
  type FlowName,
  type FlowTag,
  flowsNamed,
  MOST_NUMBERED,
  type NumberedCharge,
  type ReportedPeriod,
  SLOTS,
  type SlotSums,
} from './report.js'

// Reports and leases as text: values in a fixed order, and of numbers only the significant digits. They come from other
// processes, so every value is checked.

/** A longer text was not packed here. */
export const MOST_LENGTH: number = 65_536
const MOST_PERIODS = 100
const MOST_ENDED = 2_000
/** A flow with a longer name is not reported: each process charges it by itself. */
export const LONGEST_NAME: number = 256
/** More than any process admits, or completes, in one slot: bounds the arbiter's cost of a report. */
const MOST_REQUESTS = 20_000
const MOST_COST = 1e15
/**
 * Changes with every change of the text, which begins with it: processes with different versions are independent. The
 * versions before 5 were JSON.
 */
export const CLOCK_VERSION = 5

export function packReport({ member, sentAtMs, greeting, periods }: ClockReport): string {
  const to = new DigitWriter().count(CLOCK_VERSION).string(member).whole(tenths(sentAtMs))
  to.count(2 * periods.length + (greeting === undefined ? 0 : 1))
  if (greeting !== undefined) {
    to.decimal(greeting.credit, 15).decimal(greeting.probe, 15)
    packBelief(to.count((greeting.following ? 1 : 0) + (greeting.asking ? 2 : 0)), greeting.belief)
  }
  for (const sums of periods) packPeriod(to, sums)
  return to.text
}

/** `undefined` for anything that is not a report. */
export function unpackReport(text: unknown): ClockReport | undefined {
  return unlessMalformed(() => {
    const from = readerOf(text)
    const member = from.string(LONGEST_NAME)
    const sentAtMs = from.whole() / 10
    const parts = from.count(2 * MOST_PERIODS + 1)
    const greeting = parts % 2 === 1 && { greeting: unpackGreeting(from) }
    const periods = times(Math.floor(parts / 2), () => unpackPeriod(from))
    from.end()
    return { member, sentAtMs, ...greeting, periods }
  })
}

/** The process that sends a report; `undefined` for a text that does not begin like one. */
export function senderOf(report: string): string | undefined {
  return unlessMalformed(() => readerOf(report).string(LONGEST_NAME))
}

/** A lease is two lines: the process's own part, and the part for all. */
export function packLease(lease: ClockLease): string {
  return `${packOwnLease(lease)}\n${packSharedLease(lease)}`
}

export function packOwnLease(lease: Pick<ClockLease, 'part' | 'heard' | 'sentAtMs' | 'heardAtMs' | 'atMs'>): string {
  const { part, heard, sentAtMs, heardAtMs, atMs } = lease
  const to = new DigitWriter().count(CLOCK_VERSION).decimal(part).whole(heard)
  return to
    .whole(tenths(sentAtMs))
    .whole(tenths(heardAtMs))
    .whole(tenths(atMs) - tenths(heardAtMs)).text
}

export function packSharedLease(
  lease: Pick<ClockLease, 'arbiter' | 'periodMs' | 'period' | 'belief' | 'members' | 'flows'>,
): string {
  const { arbiter, periodMs, period, belief, members, flows } = lease
  const to = new DigitWriter().string(arbiter).decimal(periodMs, 15).whole(period).count(members)
  packBelief(to, belief)
  to.count(flows.length)
  for (const [flow, tag, asked] of flows)
    to.string(flow)
      .decimal(tag - belief.time)
      .decimal(asked)
  return to.text
}

/** `undefined` for anything that is not a lease. */
export function unpackLease(text: unknown): ClockLease | undefined {
  return unlessMalformed(() => {
    const lines = typeof text === 'string' && text.length <= MOST_LENGTH ? text.split('\n') : []
    const own = readerOf(lines[0])
    const part = own.decimal(0, 1)
    const heard = own.whole()
    const sentAtMs = own.whole() / 10
    const heardAt = own.whole()
    const atMs = (heardAt + own.whole()) / 10
    own.end()
    const from = new DigitReader(lines[1] ?? '')
    const arbiter = from.string(LONGEST_NAME)
    const periodMs = from.decimal(1, 60_000)
    const period = from.whole()
    const members = Math.max(1, from.count())
    const belief = unpackBelief(from)
    const flows = times(from.count(flowsNamed(Number.POSITIVE_INFINITY).all), (): FlowTag => {
      const flow = from.string(LONGEST_NAME)
      return [flow, belief.time + from.decimal(-MOST_COST, MOST_COST), from.decimal(0, MOST_COST)]
    })
    from.end()
    return { arbiter, periodMs, period, belief, members, part, heard, sentAtMs, heardAtMs: heardAt / 10, atMs, flows }
  })
}

/** Bounds of the characters of a lease without its flows, and of a flow in it beside its name. */
export const LEASE_LENGTH = 1024
const FLOW_LENGTH = 32

/** Most characters of a flow in a lease. An escaped character has up to six. */
export function lengthInLease(flow: string): number {
  return JSON.stringify(flow).length + FLOW_LENGTH
}

/** False if no process could read a lease with this state. */
export function isReadable(belief: ClockBelief): boolean {
  const to = new DigitWriter()
  packBelief(to, belief)
  return unlessMalformed(() => unpackBelief(new DigitReader(to.text))) !== undefined
}

/** The last amounts of a state, in their order. */
const LAST_AMOUNTS = ['deliverable', 'left', 'owed', 'fill', 'floor', 'reserve', 'most'] as const

function packBelief(to: DigitWriter, belief: ClockBelief): void {
  const { time, rate, meanCost, open, looking, usual } = belief
  // The time is exact: however far the clock has run, a request's cost is a difference.
  to.string(String(time)).decimal(rate).decimal(meanCost)
  to.count((open ? 1 : 0) + (looking ? 2 : 0)).decimal(usual)
  for (const name of LAST_AMOUNTS) to.decimal(belief[name])
}

function unpackBelief(from: DigitReader): ClockBelief {
  const time = Number(from.string(30))
  if (!(Math.abs(time) <= MOST_COST)) throw MALFORMED
  const rate = from.decimal(Number.MIN_VALUE, MOST_COST)
  const meanCost = from.decimal(Number.MIN_VALUE, MOST_COST)
  const flags = from.count(3)
  const usual = from.decimal(0, 1)
  const least = (name: string): number => (name === 'left' || name === 'owed' ? -MOST_COST : 0)
  const amounts = LAST_AMOUNTS.map((name) => [name, from.decimal(least(name), MOST_COST)])
  return {
    ...{ time, rate, meanCost, open: flags % 2 === 1, looking: flags >= 2, usual },
    ...(Object.fromEntries(amounts) as Pick<ClockBelief, (typeof LAST_AMOUNTS)[number]>),
  }
}

function unpackGreeting(from: DigitReader): ClockGreeting {
  const [credit, probe] = [from.decimal(1, MOST_COST), from.decimal(0, 1)]
  const flags = from.count(3)
  return { credit, probe, following: flags % 2 === 1, asking: flags >= 2, belief: unpackBelief(from) }
}

function packPeriod(to: DigitWriter, { period, slots, names, flows }: ReportedPeriod): void {
  to.whole(period).count(slots.length)
  for (const [at, slot] of slots.entries()) packSlot(to, slot, period * SLOTS + at)
  to.count(names.length)
  for (const [id, flow] of names) to.count(id).string(flow)
  to.count(flows.length)
  for (const [id, lead, charge, asked] of flows) {
    // Usually a flow's demand equals its charge. Its lead is over a clock that moves on until it is read.
    const isLess = Number(charge.toPrecision(4)) !== Number(asked.toPrecision(4))
    to.count(2 * id + (isLess ? 1 : 0))
      .decimal(lead, 3)
      .decimal(charge)
    if (isLess) to.decimal(asked)
  }
}

function unpackPeriod(from: DigitReader): ReportedPeriod {
  const period = from.whole()
  const slots = times(from.count(2 * SLOTS), (at) => unpackSlot(from, period * SLOTS + at))
  const { all } = flowsNamed(Number.POSITIVE_INFINITY)
  const names = times(from.count(all), (): FlowName => [from.count(MOST_NUMBERED - 1), from.string(LONGEST_NAME)])
  const flows = times(from.count(all), (): NumberedCharge => {
    const id = from.count(2 * MOST_NUMBERED - 1)
    const lead = from.decimal(-MOST_COST, MOST_COST)
    const charge = from.decimal(0, MOST_COST)
    return [Math.floor(id / 2), lead, charge, id % 2 === 1 ? from.decimal(0, MOST_COST) : charge]
  })
  return { period, slots, names, flows }
}

/** What a slot's first number says beside the number of its rows. */
const HAS_COSTS = 1
const HAS_REST = 2
const IS_MOVED = 4
const ROWS = 8
/** What a row's first number says beside its age. */
const HAS_FAILURES = 1
const HAS_IGNORED = 2
const AGES = 4

/** `usual`: its slot number if no slot of the period is left out. */
function packSlot(to: DigitWriter, sums: SlotSums, usual: number): void {
  const { slot, letIn, refused, known, ahead, strained, settled, ended } = sums
  const amounts = [letIn, refused, ...ended.flatMap(({ success, failure, ignored }) => [success, failure, ignored])]
  // Usually all requests cost 1, all flows are known, and those that are ahead are refused. While nothing is short,
  // they are admitted.
  const hasCosts = amounts.some(([requests, cost]) => requests !== cost)
  const rest = [letIn[0] + refused[0] - known, refused[0] - ahead, strained]
  const hasRest = settled !== 0 || rest.some((each) => each !== 0)
  to.count(
    (hasCosts ? HAS_COSTS : 0) + (hasRest ? HAS_REST : 0) + (slot === usual ? 0 : IS_MOVED) + ROWS * ended.length,
  )
  const pack = ([requests, cost]: Amount): void => {
    to.count(requests)
    if (hasCosts) to.decimal(cost)
  }
  pack(letIn)
  pack(refused)
  for (const row of ended) {
    const [hasFailures, hasIgnored] = [row.failure[0] > 0, row.ignored[0] > 0]
    const age = Math.max(0, slot - row.letIn)
    to.count((hasFailures ? HAS_FAILURES : 0) + (hasIgnored ? HAS_IGNORED : 0) + AGES * age)
    pack(row.success)
    if (hasFailures) pack(row.failure)
    if (hasIgnored) pack(row.ignored)
    to.count(Math.round(100 * row.expected))
  }
  if (hasRest) {
    for (const each of rest) to.whole(each)
    to.decimal(settled)
  }
  if (slot !== usual) to.whole(slot - usual)
}

function unpackSlot(from: DigitReader, usual: number): SlotSums {
  const first = from.count(ROWS * MOST_ENDED + ROWS - 1)
  const amount = (): Amount => {
    const requests = from.count(MOST_REQUESTS)
    const cost = (first & HAS_COSTS) === 0 ? requests : from.decimal(0, MOST_COST)
    return [requests, requests === 0 ? 0 : cost]
  }
  const letIn = amount()
  const refused = amount()
  const rows = times(Math.floor(first / ROWS), () => {
    const head = from.count()
    const success = amount()
    const failure: Amount = (head & HAS_FAILURES) === 0 ? [0, 0] : amount()
    const ignored: Amount = (head & HAS_IGNORED) === 0 ? [0, 0] : amount()
    const expected = Math.min(success[0] + failure[0], from.count() / 100)
    return { age: Math.floor(head / AGES), success, failure, ignored, expected }
  })
  const [unknown, passed, strained] = (first & HAS_REST) === 0 ? [0, 0, 0] : times(3, () => from.whole())
  const settled = (first & HAS_REST) === 0 ? 0 : from.decimal(-MOST_COST, MOST_COST)
  const slot = usual + ((first & IS_MOVED) === 0 ? 0 : from.whole())
  return {
    slot,
    letIn,
    refused,
    known: count(letIn[0] + refused[0] - unknown!),
    ahead: count(refused[0] - passed!),
    strained: count(strained!),
    settled,
    ended: rows.map(({ age, ...row }): Ended => ({ letIn: slot - age, ...row })),
  }
}

function count(value: number): number {
  if (value >= 0 && value <= MOST_REQUESTS) return value
  throw MALFORMED
}

function tenths(ms: number): number {
  return Math.round(10 * ms)
}

/** A reader behind the version. */
function readerOf(text: unknown): DigitReader {
  if (typeof text !== 'string' || text.length > MOST_LENGTH) throw MALFORMED
  const from = new DigitReader(text)
  if (from.count() !== CLOCK_VERSION) throw MALFORMED
  return from
}

function times<Value>(count: number, read: (at: number) => Value): Value[] {
  return Array.from({ length: count }, (_, at) => read(at))
}

function unlessMalformed<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
