/**
 * The measurements of a gate, for packages that export them: `@fairlead/otel`, `@fairlead/prometheus`, or your own.
 *
 * @module @fairlead/core/telemetry
 */

export {
  GateTelemetry,
  type Reading,
  type RecordValue,
  TELEMETRY_OPTIONS,
  type TelemetryOptions,
} from './gate-telemetry.js'
export { INSTRUMENTS, type Instrument, type InstrumentKey, SECONDS } from './instruments.js'
