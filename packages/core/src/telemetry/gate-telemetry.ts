import type { GateEvent } from '../admission/events.js'
import type { Gate } from '../admission/gate.js'
import type { Refusal } from '../admission/refusal.js'
import { fail, requireAbove, requireFunction, requireOptions, requireText } from '../options.js'
import { safeWeight } from '../weight.js'
import { FairnessWindow } from './fairness.js'
import type { InstrumentKey } from './instruments.js'

/** Options for measuring a gate. */
export interface TelemetryOptions {
  /** Distinguishes the gates of a process: the attribute `fairlead.gate`. @default the gate's name */
  name?: string
  /** The weights by which fairness is judged: those of the gate. @default 1 for every flow */
  weightOf?: (flow: string) => number
  /**
   * Length of the window over which fairness is judged, in milliseconds, above 0: choose your export interval.
   * @default 20000
   */
  fairnessWindowMs?: number
}

/** Names of the options above, for packages that add their own. */
export const TELEMETRY_OPTIONS: readonly string[] = ['name', 'weightOf', 'fairnessWindowMs']

/** A value by its attributes, each of which has few values. */
export interface Reading {
  readonly instrument: InstrumentKey
  readonly value: number
  readonly attributes: Readonly<Record<string, string>>
}

/** Records one value of a histogram; the gate's name is its only attribute. */
export type RecordValue = (instrument: 'wait' | 'duration', value: number) => void

/** Number of `stage:reason` pairs with a series of their own; all others share one. */
const MOST_REASONS = 10
/**
 * Number of FAIR's resources with series of their own; the first of them stands for all requests without a resource.
 */
const MOST_RESOURCES = 3
const MOST_SIGNALS = 3

/** A member of a value that may not be an object. */
function part(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}

/** Whether a refusal counts for fairness: there was not enough. Blocks, quotas and budgets refuse by configuration. */
function isShort({ shortage, reason }: Refusal): boolean {
  return shortage || reason === 'unfair' || reason === 'gone'
}

/**
 * Measures one gate: everything of `INSTRUMENTS`, in at most 60 series for any number of flows. For packages that
 * export the readings; `@fairlead/otel` and `@fairlead/prometheus` do. Counts are read from the gate's snapshot on
 * demand; costs, times and fairness come from its events since this was made.
 */
export class GateTelemetry {
  /** As given, or the gate's own. */
  readonly name: string
  readonly #gate: Gate
  readonly #record: RecordValue
  readonly #gateOnly: Readonly<Record<string, string>>
  readonly #fairness: FairnessWindow
  readonly #cost = { success: 0, failure: 0, ignored: 0, refused: 0 }
  readonly #stop: () => void
  #waits = false

  /** Listens to the gate until closed. Throws a `TypeError` or `RangeError` that names the option and its value. */
  constructor(gate: Gate, options: TelemetryOptions, record: RecordValue) {
    if (typeof gate !== 'object' || gate === null || typeof gate.observe !== 'function')
      fail('gate', 'made by createGate, or be that of an adapter', gate)
    requireOptions('telemetry', options, TELEMETRY_OPTIONS)
    const { name = gate.name, weightOf = () => 1, fairnessWindowMs = 20_000 } = options
    requireText('name', name)
    requireFunction('weightOf', weightOf)
    requireAbove('fairnessWindowMs', fairnessWindowMs, 0)
    this.name = name
    this.#gate = gate
    this.#record = record
    this.#gateOnly = { 'fairlead.gate': name }
    const weight = safeWeight(weightOf, (error) => gate.failed('weightOf', error))
    this.#fairness = new FairnessWindow(fairnessWindowMs, weight, gate.now())
    this.#stop = gate.observe((event) => this.#hear(event))
  }

  /** The present values of all instruments except histograms. Allocates; meant to be called every few seconds. */
  readings(): Reading[] {
    const { stages, ...counts } = this.#gate.snapshot()
    const readings: Reading[] = []
    const put = (instrument: InstrumentKey, value: unknown, attributes?: Record<string, string>): void => {
      if (typeof value !== 'number' || !Number.isFinite(value)) return
      readings.push({ instrument, value, attributes: { ...this.#gateOnly, ...attributes } })
    }
    for (const [outcome, count] of Object.entries(counts.finished))
      put('requests', count, { 'fairlead.outcome': outcome })
    for (const [stage, reason, count] of reasonsOf(counts.refusedBy))
      put('requests', count, { 'fairlead.outcome': 'refused', 'fairlead.stage': stage, 'fairlead.reason': reason })
    for (const [outcome, cost] of Object.entries(this.#cost)) put('cost', cost, { 'fairlead.outcome': outcome })
    put('active', counts.inFlight)
    put('queued', counts.waiting)
    put('expired', counts.expired)
    put('errors', counts.stageErrors, { 'fairlead.source': 'stage' })
    put('errors', counts.listenerErrors, { 'fairlead.source': 'listener' })
    putFair(put, stages['fair'])
    putShed(put, stages['shed'])
    putCapacity(put, stages['queue'], stages['doorman'])
    putBudget(put, stages['budget'])
    const { flows, worstShare, quietShare, jain, top } = this.#fairness.read(this.#gate.now())
    put('flows', flows)
    put('worstShare', worstShare)
    put('quietShare', quietShare)
    put('jain', jain)
    for (const [i, share] of top.entries()) put('topShare', share, { 'fairlead.rank': `${i + 1}` })
    return readings
  }

  /** Stops listening. */
  close(): void {
    this.#stop()
  }

  #hear(event: GateEvent): void {
    if (event.type === 'admitted') {
      // A gate in which requests never wait needs no such histogram: it would contain only zeros.
      this.#waits ||= event.waitedMs > 0
      if (this.#waits) this.#record('wait', event.waitedMs / 1_000)
    } else if (event.type === 'refused') {
      this.#cost.refused += event.cost
      if (isShort(event.refusal)) this.#fairness.ended(event.flow, event.cost, false, this.#gate.now())
    } else if (event.type === 'finished') {
      const { flow, cost, outcome, durationMs } = event
      this.#cost[outcome] += cost
      this.#record('duration', durationMs / 1_000)
      if (outcome !== 'ignored') this.#fairness.ended(flow, cost, outcome === 'success', this.#gate.now())
    }
  }
}

type Put = (instrument: InstrumentKey, value: unknown, attributes?: Record<string, string>) => void

/**
 * Stage, reason and count: the first pairs keep their own series, so that no series ever falls, and the rest share one.
 */
function reasonsOf(refusedBy: Readonly<Record<string, number>>): [stage: string, reason: string, count: number][] {
  const reasons: [string, string, number][] = []
  let others = 0
  for (const [key, count] of Object.entries(refusedBy)) {
    const colon = key.indexOf(':')
    if (reasons.length < MOST_REASONS) reasons.push([key.slice(0, colon), key.slice(colon + 1), count])
    else others += count
  }
  if (others > 0) reasons.push(['other', 'other', others])
  return reasons
}

function putFair(put: Put, fair: unknown): void {
  if (part(fair, 'rule') !== 'fair-clock') return
  const resources = Object.entries(part(fair, 'resources') ?? {})
  put('engaged', [fair, ...resources.map(([, each]) => each)].filter((each) => part(each, 'engaged') === true).length)
  const own: [string | undefined, unknown][] = [[undefined, fair], ...resources.slice(0, MOST_RESOURCES - 1)]
  for (const [name, each] of own) {
    const attributes = name === undefined ? {} : { 'fairlead.resource': name }
    put('fairCapacity', part(each, 'capacityPerSecond'), attributes)
    put('fairRate', part(each, 'fairRatePerSecond'), attributes)
    put('failureRatio', part(each, 'failureShare'), attributes)
    put('backgroundFailureRatio', part(each, 'backgroundFailureShare'), attributes)
  }
}

function putShed(put: Put, shed: unknown): void {
  const signals = part(shed, 'signals')
  if (!Array.isArray(signals)) return
  for (const signal of signals.slice(0, MOST_SIGNALS)) {
    const attributes = { 'fairlead.signal': String(part(signal, 'name')) }
    const load = part(signal, 'load')
    if (typeof load === 'number') put('shedLoad', load / Number(part(signal, 'to')), attributes)
    put('shedProbability', part(signal, 'probability'), attributes)
  }
}

function putCapacity(put: Put, queue: unknown, doorman: unknown): void {
  const capacity = part(queue, 'capacity')
  const isLeased = part(capacity, 'kind') === 'gauge'
  const source = isLeased ? 'lease' : String(part(capacity, 'kind') ?? 'own')
  put('limit', part(capacity, isLeased ? 'capacity' : 'limit'), { 'fairlead.source': source })
  put('used', part(capacity, 'inFlight'), { 'fairlead.source': source })
  const lease = isLeased ? capacity : part(doorman, 'resource')
  const attributes = { 'fairlead.resource': String(part(lease, 'id')) }
  put('leaseCapacity', part(lease, 'capacity'), attributes)
  put('leaseWants', part(lease, 'wants'), attributes)
  const endsInMs = part(lease, 'leaseEndsInMs')
  if (typeof endsInMs === 'number') put('leaseEndsIn', endsInMs / 1_000, attributes)
}

function putBudget(put: Put, budget: unknown): void {
  put('budgetLimit', part(budget, 'limit'))
  put('budgetUsed', part(budget, 'used'))
  put('budgetTenants', part(budget, 'tenants'))
  put('errors', part(budget, 'storeErrors'), { 'fairlead.source': 'store' })
}
