import { INSTRUMENTS, type InstrumentKey } from '@fairlead/core/telemetry'

/** Suffixes of names by unit; counts have none. */
const UNITS: Readonly<Record<string, string>> = { s: '_seconds', '1': '_ratio', '{cost}/s': '_per_second' }

/**
 * The name of an instrument in Prometheus, by the translation rules of OpenTelemetry's collector and Prometheus itself,
 * so that dashboards and alerts are the same for both exporters. Series of a histogram have the suffixes `_bucket`,
 * `_sum` and `_count`.
 */
export function prometheusName(instrument: InstrumentKey): string {
  const { name, kind, unit } = INSTRUMENTS[instrument]
  const suffix = UNITS[unit] ?? ''
  const base = labelName(name)
  return `${base.endsWith(suffix) ? base : base + suffix}${kind === 'counter' ? '_total' : ''}`
}

/** The label of an attribute: Prometheus has no dots. */
export function labelName(attribute: string): string {
  return attribute.replaceAll('.', '_')
}
