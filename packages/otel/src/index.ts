/**
 * OpenTelemetry for Fairlead: metrics of a gate, and what it decided on the server's spans.
 *
 * @module @fairlead/otel
 */

export { type InstrumentOptions, instrumentGate } from './instrument-gate.js'
