/**
 * OpenTelemetry for Fairlead: metrics of a gate, and its decisions on the server's spans.
 *
 * @module @fairlead/otel
 */

export { type InstrumentOptions, instrumentGate } from './instrument-gate.js'
