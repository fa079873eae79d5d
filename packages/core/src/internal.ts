/**
 * Code that the packages of this repository share and no application needs. It is not covered by semantic versioning:
 * any release may change it.
 *
 * @module @fairlead/core/internal
 */

export { DurationHistogram } from './capacity/window.js'
export { type After, Alarm, originMs, steady, systemAfter, systemClock } from './clock.js'
export { CLOCK_PATH, fleetBy, type NamedReport, type SendReport } from './doorman/fleet.js'
export { withinDeadline } from './doorman/transport.js'
export { Pool } from './escrow/fleet/pool.js'
export { grown } from './escrow/ordered-sums.js'
export { type ClockAnswer, ClockDesk } from './fair/shared/clock-desk.js'
export { CLOCK_VERSION } from './fair/shared/wire.js'
export { keyedHash, keyFrom, type Words } from './hash.js'
export { hastenResponses } from './http/response-end.js'
export {
  requireAbove,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
  show,
  withDefaults,
} from './options.js'
export { nameKeyOf } from './path.js'
export { heard } from './rejection.js'
