import type { ClockBelief } from '../clock/state.js'
import {
  type Amount,
  type ClockGreeting,
  type ClockLease,
  type ClockReport,
  type Ended,
  type FlowCharge,
  type FlowTag,
  flowsNamed,
  type PeriodSums,
  SLOTS,
  type SlotSums,
} from './report.js'

// Reports and leases as text: lists of JSON, without names, of numbers with only significant digits. They come from
// other processes, so every value is checked.

/** A longer text was not packed here. */
export const MOST_LENGTH: number = 65_536
const MOST_PERIODS = 100
const MOST_ENDED = 2_000
/** A flow with a longer name is not reported: each process charges it by itself. */
export const LONGEST_NAME: number = 256
/** More than any process admits, or completes, in one slot: bounds the arbiter's cost of a report. */
const MOST_REQUESTS = 20_000
const MOST_COST = 1e15
/** Changes with every change of the lists: processes with different versions are independent. */
const VERSION = 4

export function packReport({ member, sentAtMs, greeting, periods }: ClockReport): string {
  return JSON.stringify([
    VERSION,
    member,
    ms(sentAtMs),
    greeting === undefined
      ? 0
      : [greeting.credit, greeting.probe, greeting.following ? 1 : 0, packBelief(greeting.belief)],
    periods.map(({ period, slots, flows }) => [
      period,
      slots.map((slot, at) => packSlot(slot, period * SLOTS + at)),
      // Usually a flow's demand equals its charge.
      flows.map(([flow, lead, charge, asked]) => {
        const numbers = [rough(lead), short(charge), short(asked)]
        return [flow, ...(numbers[1] === numbers[2] ? numbers.slice(0, 2) : numbers)]
      }),
    ]),
  ])
}

/** `undefined` for anything that is not a report. */
export function unpackReport(value: unknown): ClockReport | undefined {
  return unlessMalformed(() => {
    const [version, member, sentAtMs, greeting, periods] = list(parse(value), 5)
    if (version !== VERSION) throw MALFORMED
    const report = {
      member: text(member),
      sentAtMs: number(sentAtMs),
      periods: list(periods, MOST_PERIODS).map(unpackPeriod),
    }
    return greeting === 0 ? report : { ...report, greeting: unpackGreeting(greeting) }
  })
}

/** A lease is two lines: the process's own part, and the part for all. */
export function packLease(lease: ClockLease): string {
  return `${packOwnLease(lease)}\n${packSharedLease(lease)}`
}

export function packOwnLease(lease: Pick<ClockLease, 'part' | 'heard' | 'sentAtMs' | 'heardAtMs' | 'atMs'>): string {
  const { part, heard, sentAtMs, heardAtMs, atMs } = lease
  return JSON.stringify([VERSION, short(part), heard, ms(sentAtMs), ms(heardAtMs), ms(atMs)])
}

export function packSharedLease(
  lease: Pick<ClockLease, 'arbiter' | 'periodMs' | 'period' | 'belief' | 'members' | 'flows'>,
): string {
  const { arbiter, periodMs, period, belief, members, flows } = lease
  const tags = flows.map(([flow, tag, asked]) => [flow, short(tag - belief.time), short(asked)])
  return JSON.stringify([arbiter, periodMs, period, members, packBelief(belief), tags])
}

/** `undefined` for anything that is not a lease. */
export function unpackLease(value: unknown): ClockLease | undefined {
  return unlessMalformed(() => {
    const lines = typeof value === 'string' ? value.split('\n') : []
    const [version, part, heard, sentAtMs, heardAtMs, atMs] = list(parse(lines[0]), 6)
    const [arbiter, periodMs, period, members, packed, flows] = list(parse(lines[1]), 6)
    if (version !== VERSION) throw MALFORMED
    const belief = unpackBelief(packed)
    return {
      arbiter: text(arbiter),
      periodMs: number(periodMs, 1, 60_000),
      period: number(period),
      belief,
      members: number(members, 1),
      part: number(part, 0, 1),
      heard: number(heard),
      sentAtMs: number(sentAtMs),
      heardAtMs: number(heardAtMs),
      atMs: number(atMs),
      flows: list(flows, flowsNamed(Number.POSITIVE_INFINITY).all).map((each): FlowTag => {
        const [flow, lead, asked] = list(each, 3)
        return [text(flow), belief.time + number(lead), number(asked, 0)]
      }),
    }
  })
}

function packBelief(belief: ClockBelief): number[] {
  const { time, rate, meanCost, open, looking, usual, deliverable, left, owed } = belief
  const { fill, floor, reserve, most } = belief
  const flags = (open ? 1 : 0) + (looking ? 2 : 0)
  const rest = [usual, deliverable, left, owed, fill, floor, reserve, most]
  // The time is exact: however far the clock has run, a request's cost is a difference.
  return [time, short(rate), short(meanCost), flags, ...rest.map(short)]
}

function unpackBelief(value: unknown): ClockBelief {
  const [time, rate, meanCost, flags, usual, deliverable, left, owed, fill, floor, reserve, most] = list(value, 12)
  return {
    time: number(time),
    rate: number(rate, Number.MIN_VALUE),
    meanCost: number(meanCost, Number.MIN_VALUE),
    open: (count(flags) & 1) === 1,
    looking: (count(flags) & 2) === 2,
    usual: number(usual, 0, 1),
    deliverable: number(deliverable, 0),
    left: number(left),
    owed: number(owed),
    fill: number(fill, 0),
    floor: number(floor, 0),
    reserve: number(reserve, 0),
    most: number(most, 0),
  }
}

function unpackGreeting(value: unknown): ClockGreeting {
  const [credit, probe, following, belief] = list(value, 4)
  return {
    credit: number(credit, 1),
    probe: number(probe, 0, 1),
    following: following === 1,
    belief: unpackBelief(belief),
  }
}

/** `usual`: its slot number if no slot of the period is left out. */
function packSlot(
  { slot, letIn, refused, known, ahead, strained, settled, ended }: SlotSums,
  usual: number,
): unknown[] {
  const rows = ended.map(({ letIn, success, expected, failure, ignored }) =>
    withoutZeros([
      slot - letIn,
      packAmount(success),
      Math.round(100 * expected),
      ...[failure, ignored].map(packAmount),
    ]),
  )
  // A row begins with a number, so one alone needs no list around it.
  const isAlone = rows.length === 1 && rows[0]!.length > 0
  // Usually all flows are known, and those that are ahead are refused: then the last numbers are omitted.
  const asked = letIn[0] + refused[0]
  const rest = [asked - known, refused[0] - ahead, strained, short(settled), slot - usual]
  return withoutZeros([packAmount(letIn), packAmount(refused), isAlone ? rows[0] : rows, ...rest])
}

function withoutZeros(list: unknown[]): unknown[] {
  while (list.at(-1) === 0) list.pop()
  return list
}

function unpackPeriod(value: unknown): PeriodSums {
  const [at, slots, flows] = list(value, 3)
  const period = number(at)
  return {
    period,
    slots: list(slots, 2 * SLOTS).map((each, at) => unpackSlot(each, period * SLOTS + at)),
    flows: list(flows, flowsNamed(Number.POSITIVE_INFINITY).all).map((each): FlowCharge => {
      const [flow, lead, charge, asked = charge] = list(each, 4)
      return [text(flow), number(lead), number(charge, 0), number(asked, 0)]
    }),
  }
}

function unpackSlot(value: unknown, usual: number): SlotSums {
  const [letIn = 0, refused = 0, ended = [], unknown = 0, passed = 0, strained = 0, settled = 0, off = 0] = list(
    value,
    8,
  )
  const slot = usual + number(off)
  const sums = { letIn: amount(letIn), refused: amount(refused) }
  const rows = list(ended, MOST_ENDED)
  return {
    slot,
    ...sums,
    known: count(sums.letIn[0] + sums.refused[0] - number(unknown)),
    ahead: count(sums.refused[0] - number(passed)),
    strained: count(strained),
    settled: number(settled),
    ended: (typeof rows[0] === 'number' ? [rows] : rows).map((row): Ended => {
      const [age = 0, success = 0, expected = 0, failure = 0, ignored = 0] = list(row, 5)
      const letInAt = slot - number(age)
      const known = { success: amount(success), failure: amount(failure), ignored: amount(ignored) }
      const most = known.success[0] + known.failure[0]
      return { letIn: letInAt, ...known, expected: Math.min(most, number(expected, 0) / 100) }
    }),
  }
}

/** Requests that cost 1 each are one number. */
function packAmount([requests, cost]: Amount): number | number[] {
  return requests === cost ? requests : [requests, short(cost)]
}

function amount(value: unknown): Amount {
  if (!Array.isArray(value)) return [count(value), count(value)]
  const [requests, cost] = list(value, 2)
  const known = count(requests)
  return [known, known === 0 ? 0 : number(cost, 0)]
}

function short(value: number): number {
  return Number(value.toPrecision(4))
}

/** A lead over the clock, which moves on until it is read. */
function rough(value: number): number {
  return Number(value.toPrecision(3))
}

function ms(value: number): number {
  return Math.round(10 * value) / 10
}

const MALFORMED = /* @__PURE__ */ new Error('not what was packed')

function unlessMalformed<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

function parse(value: unknown): unknown {
  if (typeof value !== 'string' || value.length > MOST_LENGTH) throw MALFORMED
  return JSON.parse(value)
}

function list(value: unknown, most: number): unknown[] {
  if (!Array.isArray(value) || value.length > most) throw MALFORMED
  return value
}

function number(value: unknown, least: number = -MOST_COST, most: number = MOST_COST): number {
  if (typeof value === 'number' && value >= least && value <= most) return value
  throw MALFORMED
}

function count(value: unknown): number {
  return Math.floor(number(value, 0, MOST_REQUESTS))
}

function text(value: unknown): string {
  if (typeof value === 'string' && value.length > 0 && value.length <= LONGEST_NAME) return value
  throw MALFORMED
}
