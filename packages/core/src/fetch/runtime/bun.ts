import { NodeAdmission } from '../../http/node-admission.js'
import { defaultShed } from '../../node/default-signals.js'
import { watchRequest } from '../host.js'
import type { Runtime } from './runtime.js'

/** Bun has Node's signals; the end of a response that an outer middleware discarded is not reported. */
export const runtime: Runtime = {
  admission: (framework, options) => new NodeAdmission(framework, options),
  shed: defaultShed,
  permitTimeoutMs: 60_000,
  watch: watchRequest,
}
