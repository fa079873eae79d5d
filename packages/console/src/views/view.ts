import { weightedMaxMin } from '@fairlead/core/escrow'
import type { Frame, Quantiles } from '../frame.js'

/** Frames that the page keeps: ten minutes. */
export const KEPT_FRAMES = 600
/** Seconds over which displayed rates are averaged. */
const LATELY = 10
/**
 * Time without a shortage after which it is over, and time within which a new one counts as the same, in milliseconds.
 */
const OVER_MS = 4_000
const SAME_MS = 10_000
/** A flow asks for more than its share if it asks for this multiple of it. */
const BEYOND = 1.1
/** Failures, as a share of ended requests, that are mentioned although nothing is short. */
const FAILING = 0.02
/** Cost of other flows that is needed to say that a flow fails alone. */
const LEAST_OTHERS = 3
/** Standard errors by which a flow must fail more often than the others to fail alone. */
const SURE = 3
/** A flow suffers if it lacks this part of its share. */
const SUFFERS = 0.05
/** Number of flows that the sentence names, and longest part of a name. */
const NAMED = 3
const LONG = 24

/** One flow's demand, share and service, per second. */
export interface FlowShare {
  readonly flow: string
  readonly weight: number
  readonly asked: number
  readonly entitled: number
  readonly served: number
  readonly refused: number
  readonly failed: number
  readonly credit: number | null
  readonly wait: Quantiles
  /** Demand beyond its share, and service missing from its share. */
  readonly excess: number
  readonly lack: number
  /** It fails while the others hardly do: for a reason of its own, not because of a shortage. */
  readonly failsAlone: boolean
}

/** Rates over the last ten seconds, and all flows' shares of the scarce resource. */
export interface Shares {
  readonly asked: number
  readonly served: number
  readonly refused: number
  readonly failed: number
  readonly flows: readonly FlowShare[]
  /** All flows without a row of their own. */
  readonly others: { readonly flows: number; readonly asked: number; readonly refused: number; readonly failed: number }
  /** Demand of quiet flows, and the share of it that is served: 0 to 1; 1 without demand. */
  readonly quietAsk: number
  readonly quietGet: number
}

/** The state in words. */
export interface State {
  readonly level: 'well' | 'short' | 'failing' | 'closed'
  readonly headline: string
  readonly detail: string
}

/** The resources that are short in a frame, in words; empty if none are. */
function shortages({ gate, fair, queue, shed, refusedBy, lease }: Frame): string[] {
  const short: string[] = []
  if (fair?.engaged) short.push(gate === 'gate' ? 'capacity' : gate)
  const limit = queue?.capacity?.limit
  if (queue && queue.waiting > 0 && typeof limit === 'number')
    short.push(`slots (${queue.running} of ${number(limit)} run)`)
  for (const { name, probability } of shed) if (probability > 0) short.push(name)
  const refusers = new Set(Object.keys(refusedBy).map((key) => key.split(':')[0]))
  if (refusers.has('budget')) short.push('budget')
  if (refusers.has('doorman')) short.push(`its lease of ${lease?.id ?? 'capacity'}`)
  return short
}

/** All flows' shares, by the demand of the last seconds. */
export function sharesOf(frames: readonly Frame[]): Shares {
  const last = frames.slice(-LATELY)
  const seconds = Math.max(
    1e-3,
    sum(last, ({ seconds }) => seconds),
  )
  const latest = last.at(-1)
  const total = {
    asked: sum(last, ({ asked }) => asked) / seconds,
    served: sum(last, ({ served }) => served) / seconds,
    refused: sum(last, ({ refused }) => refused) / seconds,
    failed: sum(last, ({ failed }) => failed) / seconds,
  }
  const sums = new Map<string, { asked: number; served: number; refused: number; failed: number }>()
  const newest = new Map<string, Frame['flows'][number]>()
  for (const frame of last)
    for (const flow of frame.flows) {
      const known = sums.get(flow.flow) ?? { asked: 0, served: 0, refused: 0, failed: 0 }
      known.asked += amountOf(flow.asked) / seconds
      known.served += amountOf(flow.served) / seconds
      known.refused += amountOf(flow.refused) / seconds
      known.failed += amountOf(flow.failed) / seconds
      sums.set(flow.flow, known)
      newest.set(flow.flow, flow)
    }
  const present = new Set(latest?.flows.map(({ flow }) => flow))
  const names = [...sums.keys()].filter(
    (name) => present.has(name) && sums.get(name)!.asked + sums.get(name)!.served > 0,
  )
  const of = (what: 'asked' | 'refused' | 'failed'): number =>
    Math.max(0, total[what] - names.reduce((all, name) => all + sums.get(name)![what], 0))
  const unnamed = Math.max(0, amountOf(latest?.flowCount ?? 0) - names.length)
  const others = { flows: unnamed, asked: of('asked'), refused: of('refused'), failed: of('failed') }
  const alone = new Set(names.filter((name) => failsAlone(sums.get(name)!, total, seconds)))
  const ownFailures = sum([...alone], (name) => sums.get(name)!.failed)
  const failed = Math.max(0, total.failed - ownFailures)
  const short = failed > FAILING * (total.served + failed) || last.some((frame) => shortages(frame).length > 0)
  const got = Math.max(0, total.asked - total.refused - failed)
  const demands = [...names.map((name) => sums.get(name)!.asked), others.asked]
  const weights = [...names.map((name) => amountOf(newest.get(name)!.weight) || 1), Math.max(1, others.flows)]
  const entitled = short ? weightedMaxMin(demands, weights, got) : demands
  const flows = names.map((flow, i): FlowShare => {
    const { asked, served, refused, failed } = sums.get(flow)!
    const { weight, credit, wait } = newest.get(flow)!
    const own = entitled[i]!
    const isAlone = alone.has(flow)
    const gets = asked - refused - (isAlone ? 0 : failed)
    const isHeavy = asked > BEYOND * own
    const excess = isHeavy ? asked - own : 0
    const lack = Math.max(0, own - gets)
    const rates = { asked, entitled: own, served, refused, failed }
    return { flow, weight, ...rates, credit, wait, excess, lack, failsAlone: isAlone }
  })
  const quiet = flows.filter(({ excess, failsAlone }) => excess === 0 && !failsAlone)
  const quietAsk = sum(quiet, ({ asked }) => asked) + others.asked
  const quietLose = sum(quiet, ({ refused, failed }) => refused + failed) + others.refused + others.failed
  const quietGet = quietAsk > 0 ? Math.max(0, 1 - quietLose / quietAsk) : 1
  return { ...total, flows, others, quietAsk, quietGet }
}

interface Rates {
  readonly asked: number
  readonly refused: number
  readonly failed: number
}

/**
 * Whether a flow fails significantly more often than by chance, while the others hardly fail: if all fail, a resource
 * is short.
 */
function failsAlone({ asked, refused, failed }: Rates, all: Rates, seconds: number): boolean {
  const letIn = asked - refused
  const others = all.asked - all.refused - letIn
  if (others * seconds < LEAST_OTHERS) return false
  const usual = (all.failed - failed) / others
  const expected = usual * letIn * seconds
  return usual <= FAILING && failed * seconds - expected > SURE * Math.sqrt(expected + 0.5)
}

/** The share of a flow's demand that was refused or failed: 0 to 1. */
export function lost({ asked, refused, failed }: FlowShare): number {
  return asked > 0 ? Math.min(1, (refused + failed) / asked) : 0
}

/** Whether a flow gets significantly less than its fair share. */
export function suffers(share: FlowShare): boolean {
  return !share.failsAlone && share.excess === 0 && share.lack > SUFFERS * share.entitled && lost(share) > SUFFERS
}

/** Sorts by harm: demand beyond the share, service missing from it, or own failures; then by demand. */
export function byHarm(a: FlowShare, b: FlowShare): number {
  const harm = ({ excess, lack, failsAlone, failed }: FlowShare): number => excess + lack + (failsAlone ? failed : 0)
  return harm(b) - harm(a) || b.asked - a.asked
}

/** The state in two sentences: whether a resource is short, which one, since when, and which flows cause it. */
export function stateOf(frames: readonly Frame[], shares: Shares): State {
  const latest = frames.at(-1)
  if (latest === undefined) return { level: 'well', headline: 'Waiting for the first second.', detail: '' }
  const flows = count(latest.flowCount, 'flow')
  if (latest.closed) return { level: 'closed', headline: 'The gate is closed.', detail: 'All requests are refused.' }
  const { asked, refused, failed } = shares
  const refusedPart = asked > 0 ? refused / asked : 0
  const failedPart = asked > 0 ? failed / asked : 0
  const losses = `Refused ${percent(refusedPart)}${failedPart > FAILING ? `, failed ${percent(failedPart)}` : ''}.`
  const quiet = shares.quietAsk > TELLING * asked ? ` Quiet flows get ${percent(shares.quietGet)}.` : ''
  const detail = `${whoAsks(shares, latest.flowCount)} ${losses}${quiet}`
  const since = shortSince(frames)
  if (since !== undefined) {
    const what = unique(
      frames
        .filter(({ atMs }) => atMs >= latest.atMs - OVER_MS)
        .flatMap(shortages)
        .map(withoutNumbers),
    ).sort()
    const age = duration(latest.atMs - since.atMs)
    return {
      level: 'short',
      headline: `Short of ${listed(what)} ${since.whole ? `since ${age}` : `for more than ${age}`}.`,
      detail,
    }
  }
  const failing = failed / Math.max(1e-9, shares.served + failed)
  if (failing > FAILING)
    return { level: 'failing', headline: `${percent(failing)} of what is let in fails${whoFails(shares)}.`, detail }
  if (asked === 0) return { level: 'well', headline: 'No requests.', detail: '' }
  const gets = refused === 0 ? 'and get it.' : `${percent(refusedPart)} is refused.`
  return {
    level: 'well',
    headline: 'All is well.',
    detail: `${flows} ask ${rate(asked)}${refused === 0 ? ' ' : '; '}${gets}`,
  }
}

/** Names the flows that ask for more than their share; or says that no flow is the cause. */
function whoAsks({ asked, flows }: Shares, flowCount: number): string {
  const all = count(flowCount, 'flow')
  const heavy = flows.filter(({ excess }) => excess > 0)
  if (heavy.length === 0) return `${all} ask ${rate(asked)}, none above its share.`
  const own = heavy.map((flow) => flow.asked / flow.weight)
  const mean = sum(own, (each) => each) / own.length
  // If most flows ask for too much, and alike, the capacity has fallen, not the demand risen.
  if (heavy.length > flowCount / 2 && Math.max(...own) < STANDS_OUT * mean)
    return `${all} ask ${rate(asked)}, and none stands out: there is less than they ask.`
  const part = asked > 0 ? sum(heavy, (flow) => flow.asked) / asked : 0
  return `${heavy.length} of ${all} ask ${percent(part)}: ${namesOf(heavy)}.`
}

/** Names the flows that fail alone, if any. */
function whoFails({ flows, failed }: Shares): string {
  const alone = flows.filter(({ failsAlone }) => failsAlone)
  if (alone.length === 0) return ''
  return `, ${percent(sum(alone, (flow) => flow.failed) / failed)} of that at ${namesOf(alone)}`
}

/** Names of the three largest flows. */
function namesOf(heavy: readonly FlowShare[]): string {
  const names = [...heavy]
    .sort((a, b) => b.asked - a.asked)
    .slice(0, NAMED)
    .map(({ flow }) => shortened(flow, LONG))
  return heavy.length > NAMED ? `${names.join(', ')} and others` : listed(names)
}

/** The longest part of a name that is shown, in UTF-16 units; no character is cut in half. */
export function shortened(name: string, most: number): string {
  return name.length > most ? `${name.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…` : name
}

/** The start of the present shortage, and whether it was observed; undefined without a shortage. */
function shortSince(frames: readonly Frame[]): { atMs: number; whole: boolean } | undefined {
  const now = frames.at(-1)?.atMs ?? 0
  let first: number | undefined
  let index = frames.length
  for (let i = frames.length - 1; i >= 0; i--) {
    const { atMs } = frames[i]!
    if ((first ?? now) - atMs > (first === undefined ? OVER_MS : SAME_MS)) break
    if (shortages(frames[i]!).length === 0) continue
    first = atMs
    index = i
  }
  return first === undefined ? undefined : { atMs: first, whole: index > 0 }
}

/** Part of the total demand from which on an amount is mentioned. */
const TELLING = 0.01
/** Part of the total demand from which on a flow gets a colour. */
const COLOURED = 0.06
/** With at least this number of flows, a flow must also ask for a multiple of the average. */
const MANY = 6
const STANDS_OUT = 1.5

/** The coloured flows: those that ask for much keep their colours as long as they are among them. */
export function colours(before: ReadonlyMap<string, number>, shares: Shares, most: number): Map<string, number> {
  // If many flows ask alike, none stands out.
  const alike = shares.flows.length >= MANY ? (STANDS_OUT * shares.asked) / shares.flows.length : 0
  const floor = Math.max(COLOURED * shares.asked, alike)
  const heavy = shares.flows
    .filter(({ asked, excess }) => asked > floor || excess > 0)
    .sort((a, b) => b.asked - a.asked || (a.flow < b.flow ? -1 : 1))
    .slice(0, most)
  const kept = new Map(heavy.flatMap(({ flow }) => (before.has(flow) ? [[flow, before.get(flow)!] as const] : [])))
  const free = Array.from({ length: most }, (_, i) => i).filter((i) => ![...kept.values()].includes(i))
  for (const { flow } of heavy) if (!kept.has(flow)) kept.set(flow, free.shift()!)
  return kept
}

/** One second of the river: service and refusals of each flow, per second. */
export interface RiverPoint {
  readonly atMs: number
  readonly served: readonly number[]
  readonly refused: readonly number[]
  readonly capacity: number | null
}

/** Frames over which a point of the river is averaged, so that random variation does not hide the trend. */
const SMOOTH = 3

/** The river's points; of each, first all others, then `flows` in their order. */
export function riverOf(frames: readonly Frame[], flows: readonly string[]): RiverPoint[] {
  return frames.map((frame, i) => {
    const near = frames.slice(Math.max(0, i - SMOOTH + 1), i + 1)
    const seconds = Math.max(
      1e-3,
      sum(near, (each) => each.seconds),
    )
    const of = (what: 'served' | 'refused'): number[] => {
      const named = flows.map(
        (name) => sum(near, (each) => each.flows.find(({ flow }) => flow === name)?.[what] ?? 0) / seconds,
      )
      const all = sum(near, (each) => each[what]) / seconds
      return [Math.max(0, all - named.reduce((total, one) => total + one, 0)), ...named]
    }
    return { atMs: frame.atMs, served: of('served'), refused: of('refused'), capacity: capacityOf(frame) }
  })
}

/** Cost that was served, by flow and in all. */
export function servedBy(frames: readonly Frame[]): Map<string, number> {
  const served = new Map<string, number>([['', sum(frames, (frame) => frame.served)]])
  for (const { flows } of frames)
    for (const flow of flows) served.set(flow.flow, (served.get(flow.flow) ?? 0) + flow.served)
  return served
}

/**
 * The measured capacity, in cost per second: the queue's output while requests wait in it; otherwise FAIR's
 * measurement. A first estimate that is a tenth of the present service is ignored.
 */
export function capacityOf({ fair, queue, served, seconds }: Frame): number | null {
  if (queue && queue.waiting > 0 && fair?.engaged !== true && queue.drainPerSecond !== null) return queue.drainPerSecond
  const measured = fair?.capacityPerSecond ?? 0
  return measured > 0.1 * (served / seconds) ? measured : null
}

/** An invalid amount, in frames of the caller's own, counts as 0. */
function amountOf(value: number): number {
  return Number.isFinite(value) ? value : 0
}

export function sum<T>(list: readonly T[], of: (item: T) => number): number {
  return list.reduce((total, item) => total + amountOf(of(item)), 0)
}

function unique(list: readonly string[]): string[] {
  return [...new Set(list)]
}

/** The newest numbers are in the panels; in the sentence they would only flicker. */
function withoutNumbers(what: string): string {
  return what.replace(/ \(.*\)$/, '')
}

function listed(list: readonly string[]): string {
  return list.length < 2 ? (list[0] ?? '') : `${list.slice(0, -1).join(', ')} and ${list.at(-1)}`
}

export function count(amount: number, thing: string): string {
  return `${number(amount)} ${thing}${amount === 1 ? '' : 's'}`
}

/** Three digits at most, and thousands by letter. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? '–' : value < 0 ? '−∞' : '∞'
  const size = Math.abs(value)
  if (size >= 1e6) return `${trimmed(value / 1e6)}\u00a0M`
  if (size >= 1e4) return `${trimmed(value / 1e3)}\u00a0k`
  return size >= 100 ? value.toFixed(0) : trimmed(value)
}

function trimmed(value: number): string {
  const size = Math.abs(value)
  const text = value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 1 : 2)
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

export function rate(perSecond: number): string {
  return `${number(perSecond)}/s`
}

/** Never 0 % or 100 % unless it is exact. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return '–'
  if (share > 0 && share < 0.005) return '<1\u00a0%'
  if (share < 1 && share > 0.995) return '>99\u00a0%'
  return `${Math.round(100 * share)}\u00a0%`
}

export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–'
  const [value, unit] = durationParts(ms)
  return `${value}\u00a0${unit}`
}

function durationParts(ms: number): readonly [string, string] {
  if (ms < 0.1) return ['0', 'ms']
  if (ms < 1_000) return [ms < 10 ? trimmed(Math.round(ms * 10) / 10) : ms.toFixed(0), 'ms']
  const seconds = ms / 1_000
  if (seconds < 100) return [seconds < 10 ? trimmed(Math.round(seconds * 10) / 10) : seconds.toFixed(0), 's']
  const minutes = Math.round(seconds / 60)
  return minutes < 100 ? [`${minutes}`, 'min'] : [`${Math.round(minutes / 60)}`, 'h']
}

/** Signals have different units; those of memory and delay are recognised by their names. */
export function unitOf(name: string, to: number): (value: number) => string {
  if (/memory|heap|container|rss/.test(name) && to > 1e6) return (value) => `${number(value / 1_048_576)} MiB`
  if (/memory|heap|container|rss|cpu|utilization/.test(name) && to <= 2) return percent
  if (/delay|loop|lag|late/.test(name)) return duration
  return number
}
