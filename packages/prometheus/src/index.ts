/**
 * Prometheus for Fairlead: metrics of a gate, by prom-client. The dashboard and the alert rules that go with them are
 * files of the package: `grafana/fairlead.json` and `alerts/fairlead.yml`.
 *
 * @module @fairlead/prometheus
 */

export { type AnyRegistry, type InstrumentOptions, instrumentGate } from './instrument-gate.js'
export { prometheusName } from './names.js'
