/**
 * Prometheus for Fairlead: metrics of a gate, through prom-client. The matching dashboard and alert rules are files of
 * the package: `grafana/fairlead.json` and `alerts/fairlead.yml`.
 *
 * @module @fairlead/prometheus
 */

export { type AnyRegistry, type InstrumentOptions, instrumentGate } from './instrument-gate.js'
export { prometheusName } from './names.js'
