import type { Gate } from '@fairlead/core'
import { requireBoolean, requireFunction, requireOptions, show } from '@fairlead/core/internal'
import {
  GateTelemetry,
  INSTRUMENTS,
  type Instrument,
  SECONDS,
  TELEMETRY_OPTIONS,
  type TelemetryOptions,
} from '@fairlead/core/telemetry'
import {
  type BatchObservableCallback,
  createNoopMeter,
  type Histogram,
  type Meter,
  metrics,
  type Observable,
} from '@opentelemetry/api'
import { tellSpans } from './spans.js'

/** Options of {@link instrumentGate}. */
export interface InstrumentOptions extends TelemetryOptions {
  /** The meter that makes the instruments. @default `metrics.getMeter('@fairlead/otel')` */
  meter?: Meter
  /** Whether the gate's decisions are recorded on the server's span. @default true */
  spans?: boolean
  /**
   * The value of `fairlead.flow` on a span: the flow itself, a hash of it, or nothing. Metrics never name a flow.
   * @default nothing
   */
  flowOf?: (flow: string) => string | undefined
}

/** The gates that each meter measures, by name. */
const measured = new WeakMap<Meter, Map<string, GateTelemetry>>()

/**
 * Measures a gate by OpenTelemetry, in at most 60 series for any number of flows, and records its decisions on the
 * server's spans. Call it after the SDK has started: a meter obtained earlier measures nothing. Returns a function that
 * stops it.
 *
 * Throws a `TypeError` or `RangeError` that names the option and its value, or if the meter already measures another
 * gate of this `name`.
 */
export function instrumentGate(gate: Gate, options: InstrumentOptions = {}): () => void {
  requireOptions('instrumentGate', options, [...TELEMETRY_OPTIONS, 'meter', 'spans', 'flowOf'])
  const { meter = metrics.getMeter('@fairlead/otel'), spans = true, flowOf, ...telemetry } = options
  requireMeter(meter)
  requireBoolean('spans', spans)
  if (flowOf !== undefined) requireFunction('flowOf', flowOf)
  const measuring = measure(gate, telemetry, meter)
  const stopTelling = spans ? tellSpans(gate, measuring.name, flowOf) : undefined
  return () => {
    measuring.stop()
    stopTelling?.()
  }
}

function requireMeter(meter: unknown): void {
  const { createHistogram, addBatchObservableCallback } = (meter ?? {}) as Partial<Meter>
  if (typeof createHistogram !== 'function' || typeof addBatchObservableCallback !== 'function')
    throw new TypeError(`meter must be a Meter of OpenTelemetry, got ${show(meter)}`)
}

function measure(gate: Gate, options: TelemetryOptions, meter: Meter): { name: string; stop: () => void } {
  // First, because it throws on bad options, and then no instruments may remain.
  const telemetry = new GateTelemetry(gate, options, (key, value) => histograms?.[key].record(value, attributes))
  let histograms: Record<'wait' | 'duration', Histogram> | undefined
  const { name } = telemetry
  const attributes = { 'fairlead.gate': name }
  // Without an SDK nothing is measured.
  if (meter === createNoopMeter()) {
    telemetry.close()
    return { name, stop: () => {} }
  }
  const gates = measured.get(meter) ?? new Map()
  measured.set(meter, gates)
  try {
    if (gates.has(name)) throw new TypeError(`name must tell gates apart, got ${JSON.stringify(name)} for two of them`)
    histograms = { wait: histogramOf(meter, 'wait'), duration: histogramOf(meter, 'duration') }
    const unobserve = observe(meter, telemetry)
    gates.set(name, telemetry)
    return {
      name,
      stop: () => {
        unobserve()
        telemetry.close()
        if (gates.get(name) === telemetry) gates.delete(name)
      },
    }
  } catch (error) {
    telemetry.close()
    throw error
  }
}

/** Lets the meter read the gate at each collection. Returns a function that ends this. */
function observe(meter: Meter, telemetry: GateTelemetry): () => void {
  const observables = new Map<string, Observable>()
  for (const [key, instrument] of Object.entries(INSTRUMENTS)) {
    const observable = observableOf(meter, instrument)
    if (observable !== undefined) observables.set(key, observable)
  }
  const read: BatchObservableCallback = (result) => {
    for (const { instrument, value, attributes } of telemetry.readings())
      result.observe(observables.get(instrument)!, value, attributes)
  }
  const all = [...observables.values()]
  meter.addBatchObservableCallback(read, all)
  return () => meter.removeBatchObservableCallback(read, all)
}

function histogramOf(meter: Meter, key: 'wait' | 'duration'): Histogram {
  const { name, unit, description } = INSTRUMENTS[key]
  return meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: [...SECONDS] } })
}

function observableOf(meter: Meter, { name, kind, unit, description }: Instrument): Observable | undefined {
  if (kind === 'counter') return meter.createObservableCounter(name, { unit, description })
  if (kind === 'up-down') return meter.createObservableUpDownCounter(name, { unit, description })
  if (kind === 'gauge') return meter.createObservableGauge(name, { unit, description })
  return undefined
}
