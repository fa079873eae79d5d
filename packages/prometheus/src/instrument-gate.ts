import type { Gate } from '@fairlead/core'
import { requireOptions, show } from '@fairlead/core/internal'
import {
  GateTelemetry,
  INSTRUMENTS,
  type InstrumentKey,
  type Reading,
  SECONDS,
  TELEMETRY_OPTIONS,
  type TelemetryOptions,
} from '@fairlead/core/telemetry'
import {
  type Aggregator,
  Counter,
  Gauge,
  Histogram,
  type MetricConfiguration,
  type OpenMetricsContentType,
  type Registry,
  register,
} from 'prom-client'
import { labelName, prometheusName } from './names.js'

/** A registry of prom-client, in either of its formats. */
export type AnyRegistry = Registry | Registry<OpenMetricsContentType>

/** Options of {@link instrumentGate}. */
export interface InstrumentOptions extends TelemetryOptions {
  /** The registry of the metrics. @default prom-client's own */
  registry?: AnyRegistry
}

/** The gates whose metrics a registry has, by name. */
interface Exported {
  readonly gates: Map<string, GateTelemetry>
  readonly histograms: Readonly<Record<'wait' | 'duration', Histogram>>
}

const exported = new WeakMap<AnyRegistry, Exported>()

/**
 * Measures a gate for Prometheus, in at most 60 series for any number of flows, of which the two histograms have 13
 * lines each. Returns a function that stops it.
 *
 * Throws a `TypeError` or `RangeError` that names the option and its value, or if the registry already has another gate
 * of this `name`.
 */
export function instrumentGate(gate: Gate, options: InstrumentOptions = {}): () => void {
  requireOptions('instrumentGate', options, [...TELEMETRY_OPTIONS, 'registry'])
  const { registry = register, ...rest } = options
  requireRegistry(registry)
  // First, because it throws on bad options, and then no metrics may remain.
  const telemetry = new GateTelemetry(gate, rest, (key, value) => own[key].observe(value))
  const { name } = telemetry
  const { gates, histograms } = exportedTo(registry, telemetry)
  const labels = { fairlead_gate: name }
  const own = { wait: histograms.wait.labels(labels), duration: histograms.duration.labels(labels) }
  return () => {
    telemetry.close()
    if (gates.get(name) !== telemetry) return
    gates.delete(name)
    for (const histogram of Object.values(histograms)) histogram.remove(labels)
  }
}

function requireRegistry(registry: unknown): void {
  const { registerMetric, getSingleMetric } = (registry ?? {}) as Partial<AnyRegistry>
  if (typeof registerMetric !== 'function' || typeof getSingleMetric !== 'function')
    throw new TypeError(`registry must be a Registry of prom-client, got ${show(registry)}`)
}

/** Adds a gate to those of a registry, or closes it and throws. */
function exportedTo(registry: AnyRegistry, telemetry: GateTelemetry): Exported {
  const { name } = telemetry
  try {
    const all = exportedBy(registry)
    if (all.gates.has(name))
      throw new TypeError(`name must tell gates apart, got ${JSON.stringify(name)} for two of them`)
    all.gates.set(name, telemetry)
    return all
  } catch (error) {
    telemetry.close()
    throw error
  }
}

/** The metrics of a registry: made once, and again if the registry was cleared. */
function exportedBy(registry: AnyRegistry): Exported {
  const known = exported.get(registry)
  if (known !== undefined && registry.getSingleMetric(prometheusName('requests')) !== undefined) return known
  const gates = new Map<string, GateTelemetry>()
  let latest: readonly Reading[] | undefined
  // A registry collects all its metrics in one pass: each gate is read once for all of them.
  const readingsOf = (key: string): Reading[] => {
    if (latest === undefined) {
      latest = [...gates.values()].flatMap((telemetry) => telemetry.readings())
      queueMicrotask(() => {
        latest = undefined
      })
    }
    return latest.filter(({ instrument }) => instrument === key)
  }
  for (const key of keys()) requireFree(registry, prometheusName(key))
  for (const key of keys()) addMetric(registry, key, () => readingsOf(key))
  const histograms = { wait: histogramOf(registry, 'wait'), duration: histogramOf(registry, 'duration') }
  const fresh = { gates, histograms }
  exported.set(registry, fresh)
  return fresh
}

/** Checks all names before it registers the first: a registry gets all of the metrics, or none. */
function requireFree(registry: AnyRegistry, name: string): void {
  if (registry.getSingleMetric(name) !== undefined)
    throw new TypeError(`registry must have no metric ${JSON.stringify(name)} of another maker`)
}

function keys(): InstrumentKey[] {
  return Object.keys(INSTRUMENTS).filter((key): key is InstrumentKey => key in INSTRUMENTS)
}

/** How prom-client aggregates the values of several processes, if asked to. */
const AGGREGATORS: Partial<Record<InstrumentKey, Aggregator>> = {
  engaged: 'max',
  flows: 'max',
  worstShare: 'min',
  quietShare: 'min',
  jain: 'min',
  topShare: 'max',
  leaseEndsIn: 'min',
}

function settingsOf(registry: AnyRegistry, key: InstrumentKey): MetricConfiguration<string> {
  const { description, attributes } = INSTRUMENTS[key]
  const labelNames = ['fairlead.gate', ...attributes].map(labelName)
  return { name: prometheusName(key), help: description, labelNames, registers: [registry] }
}

function histogramOf(registry: AnyRegistry, key: InstrumentKey): Histogram {
  return new Histogram({ ...settingsOf(registry, key), buckets: [...SECONDS] })
}

/** Adds the gauges that are computed at each collection to the readings of all gates. */
function addMetric(registry: AnyRegistry, key: InstrumentKey, read: () => Reading[]): void {
  const { kind } = INSTRUMENTS[key]
  if (kind === 'histogram') return
  const settings = settingsOf(registry, key)
  if (kind === 'counter')
    new Counter({
      ...settings,
      collect() {
        this.reset()
        for (const { value, attributes } of read()) this.inc(labelsOf(attributes), value)
      },
    })
  else
    new Gauge({
      ...settings,
      aggregator: AGGREGATORS[key] ?? (kind === 'gauge' ? 'average' : 'sum'),
      collect() {
        this.reset()
        for (const { value, attributes } of read()) this.set(labelsOf(attributes), value)
      },
    })
}

function labelsOf(attributes: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [labelName(name), value]))
}
