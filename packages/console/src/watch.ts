import type { Gate, GateEvent } from '@fairlead/core'
import { DurationHistogram } from '@fairlead/core/internal'
import {
  type FlowFrame,
  type Frame,
  OUTCOMES,
  type ProcessFrame,
  type Quantiles,
  type RecordFrame,
  type RefusalFrame,
} from './frame.js'
import { FlowCount, HeavyFlows } from './heavy-flows.js'
import {
  budgetFrame,
  fairFrame,
  isJson,
  leaseFrame,
  numberOf,
  overrideFrames,
  queueFrame,
  signalFrames,
} from './stage-frames.js'
import { cut, LONGEST_NAME, LONGEST_WORD, tellable, WordCounts } from './told.js'

/** Most refusals in a frame. */
const SAMPLED = 8
/** Most separate reasons of refusals in a frame. */
const REASONS = 32
/** Most overrides in a frame besides those of its flows: the latest ones. */
const OVERRIDES = 32
/** Most processes of a fleet in a frame. */
const PROCESSES = 100
/** Most requests in the recording of a frame, and most UTF-16 units of all their names. */
const MOST_RECORDED = 5_000
const MOST_RECORDED_UNITS = 100_000
/** Half-life of the histograms: an operator's view of ten seconds. */
const HALVE_MS = 3_000

/** Dependencies of a watch. */
export interface WatchHost {
  /** Steady, in milliseconds. */
  readonly clock: () => number
  /** Time of day, in milliseconds. */
  readonly timeOfDay: () => number
  readonly random: () => number
  /** The viewers' label of a flow. */
  readonly label: (flow: string) => string
  /** Frames may contain only hashes of names. */
  readonly isHashed: boolean
  readonly process: string
}

/**
 * Listens to a gate from its creation until {@link stop}, and sums up the events in frames. Memory is constant, some
 * 200 kB (32 flows, two small sketches, a few histograms), apart from the recording within a frame.
 */
export class Watch {
  readonly #gate: Gate
  readonly #host: WatchHost
  readonly #stop: () => void
  readonly #heavy: HeavyFlows
  readonly #flows: FlowCount
  readonly #waits = new Map<string, DurationHistogram>()
  readonly #durations = new DurationHistogram()
  #asked = 0
  #served = 0
  #refused = 0
  #failed = 0
  #refusals: RefusalFrame[] = []
  #refusalCount = 0
  #refusedBy = new WordCounts()
  #framedMs: number
  #halvedMs: number
  #record: { names: Map<string, number>; rows: number[]; units: number; dropped: number } | undefined

  constructor(gate: Gate, host: WatchHost) {
    this.#gate = gate
    this.#host = host
    const nowMs = host.clock()
    this.#framedMs = nowMs
    this.#halvedMs = nowMs
    this.#heavy = new HeavyFlows(nowMs)
    this.#flows = new FlowCount(nowMs, host.random)
    this.#stop = gate.observe((event) => this.#hear(event))
  }

  stop(): void {
    this.#stop()
  }

  /** The real name of the flow with the label `label`, if viewers can see it. */
  flowOf(label: string): string | undefined {
    for (const { flow } of this.#heavy.all()) if (this.#host.label(flow) === label) return flow
    for (const flow of namesIn(this.#gate.snapshot().stages)) if (this.#host.label(flow) === label) return flow
    return undefined
  }

  /** Starts or stops recording for {@link recorded}. */
  set recording(on: boolean) {
    if (!on) this.#record = undefined
    else this.#record ??= { names: new Map(), rows: [], units: 0, dropped: 0 }
  }

  /** The requests that ended since the last call, while recording. */
  recorded(): RecordFrame | undefined {
    const record = this.#record
    if (record === undefined) return undefined
    this.#record = { names: new Map(), rows: [], units: 0, dropped: 0 }
    const flows = [...record.names.keys()]
    const weights = flows.map((flow) => this.#explained(flow).weight)
    return { names: flows.map(this.#host.label), weights, rows: record.rows, dropped: record.dropped }
  }

  /** Everything since the last frame. */
  frame(fleet: readonly ProcessFrame[] = []): Frame {
    const { clock, timeOfDay, label, isHashed, process } = this.#host
    const nowMs = clock()
    const { stages, name, ...counts } = this.#gate.snapshot()
    const flows = this.#flowFrames()
    const shown = new Set(flows.map(({ flow }) => flow))
    const overrides = overrideFrames(stages['overrides'], label)
    const frame: Frame = {
      gate: cut(name, LONGEST_NAME),
      process: cut(process, LONGEST_NAME),
      atMs: timeOfDay(),
      seconds: Math.max(1e-3, (nowMs - this.#framedMs) / 1_000),
      closed: counts.closed,
      asked: this.#asked,
      served: this.#served,
      refused: this.#refused,
      failed: this.#failed,
      inFlight: counts.inFlight,
      waiting: counts.waiting,
      stageErrors: counts.stageErrors,
      refusedBy: this.#refusedBy.top(REASONS),
      flowCount: this.#flows.at(nowMs),
      flows,
      waits: Object.fromEntries([...this.#waits].map(([stage, waits]) => [stage, quantiles(waits)])),
      durations: quantiles(this.#durations),
      refusals: this.#refusals,
      fair: fairFrame(stages['fair']),
      queue: queueFrame(stages['queue'], label),
      shed: signalFrames(stages['shed'], isHashed),
      budget: budgetFrame(stages['budget'], label),
      lease: leaseFrame(stages['doorman'], stages['queue']),
      overrides: overrides.filter(({ flow }, i) => i >= overrides.length - OVERRIDES || shown.has(flow)),
      fleet: fleet.slice(0, PROCESSES),
    }
    this.#begin(nowMs)
    return frame
  }

  #begin(nowMs: number): void {
    this.#framedMs = nowMs
    this.#heavy.next(nowMs)
    this.#asked = 0
    this.#served = 0
    this.#refused = 0
    this.#failed = 0
    this.#refusals = []
    this.#refusalCount = 0
    this.#refusedBy = new WordCounts()
    if (nowMs - this.#halvedMs < HALVE_MS) return
    this.#halvedMs = nowMs
    this.#durations.fade(0.5)
    for (const waits of this.#waits.values()) waits.fade(0.5)
  }

  #flowFrames(): FlowFrame[] {
    const frames: FlowFrame[] = []
    for (const { flow, asked, served, refused, failed, waits } of this.#heavy.all()) {
      const { weight, credit } = this.#explained(flow)
      const wait = quantiles(waits)
      frames.push({ flow: this.#host.label(flow), asked, served, refused, failed, weight, credit, wait })
    }
    return frames.sort((a, b) => b.asked - a.asked)
  }

  #explained(flow: string): { weight: number; credit: number | null } {
    const { fair } = this.#gate.explain(flow)
    if (!isJson(fair)) return { weight: 1, credit: null }
    return { weight: numberOf(fair['weight']) ?? 1, credit: numberOf(fair['credit']) }
  }

  #hear(event: GateEvent): void {
    if (event.type === 'admitted') {
      this.#flows.add(event.flow)
      this.#asked += event.cost
      this.#heavy.asks(event.flow, event.cost).waits.add(event.waitedMs)
    } else if (event.type === 'finished') {
      const record = this.#heavy.get(event.flow)
      const failed = event.outcome === 'failure'
      if (failed) this.#failed += event.cost
      else this.#served += event.cost
      if (record !== undefined) {
        if (failed) record.failed += event.cost
        else record.served += event.cost
      }
      this.#durations.add(event.durationMs)
      if (this.#record !== undefined)
        this.#keep(event.flow, event.cost, OUTCOMES.indexOf(event.outcome), event.durationMs, event.waitedMs)
    } else if (event.type === 'refused') this.#hearRefusal(event)
    else if (event.type === 'waited') {
      const stage = cut(event.stage, LONGEST_WORD)
      const waits = this.#waits.get(stage) ?? new DurationHistogram()
      this.#waits.set(stage, waits)
      waits.add(event.waitedMs)
    }
  }

  #hearRefusal({ id, flow, cost, waitedMs, refusal }: Extract<GateEvent, { type: 'refused' }>): void {
    this.#flows.add(flow)
    this.#asked += cost
    this.#refused += cost
    const record = this.#heavy.asks(flow, cost)
    record.refused += cost
    const { stage, reason, retryAfterMs, detail } = refusal
    this.#refusedBy.add(`${cut(stage, LONGEST_WORD)}:${cut(reason, LONGEST_WORD)}`)
    if (this.#record !== undefined) this.#keep(flow, cost, OUTCOMES.indexOf('refused'), 0, waitedMs)
    // A uniform sample of the frame's refusals: Vitter's algorithm R.
    const place = this.#refusalCount++
    const at = place < SAMPLED ? place : Math.floor(this.#host.random() * this.#refusalCount)
    if (at >= SAMPLED) return
    const atMs = this.#host.timeOfDay()
    const retry = Number.isFinite(retryAfterMs) ? retryAfterMs : null
    this.#refusals[at] = {
      id,
      atMs,
      flow: this.#host.label(flow),
      stage: cut(stage, LONGEST_WORD),
      reason: cut(reason, LONGEST_WORD),
      retryAfterMs: retry,
      detail: tellable(detail, this.#host.isHashed),
    }
  }

  #keep(flow: string, cost: number, outcome: number, durationMs: number, waitedMs: number): void {
    const record = this.#record!
    const known = record.names.get(flow)
    const units = known === undefined ? flow.length : 0
    if (record.rows.length >= 5 * MOST_RECORDED || record.units + units > MOST_RECORDED_UNITS) {
      record.dropped++
      return
    }
    record.units += units
    const name = known ?? record.names.size
    record.names.set(flow, name)
    const askedMs = this.#host.timeOfDay() - durationMs - waitedMs
    record.rows.push(name, Math.round(10 * askedMs) / 10, cost, outcome, Math.round(100 * durationMs) / 100)
  }
}

function quantiles(histogram: DurationHistogram): Quantiles {
  return {
    count: Math.round(histogram.count),
    p50: histogram.quantileMs(0.5),
    p99: histogram.quantileMs(0.99),
  }
}

/** All flows that the stages report. */
function* namesIn(stages: Readonly<Record<string, unknown>>): Generator<string> {
  const { queue, budget, overrides } = stages
  const lists = [
    isJson(queue) ? queue['flows'] : [],
    isJson(budget) ? budget['heaviest'] : [],
    isJson(overrides) ? Object.keys(overrides).map((flow) => ({ flow })) : [],
  ]
  for (const list of lists) {
    if (!Array.isArray(list)) continue
    for (const each of list) {
      const name: unknown = isJson(each) ? (each['flow'] ?? each['tenant']) : undefined
      if (typeof name === 'string') yield name
    }
  }
}
