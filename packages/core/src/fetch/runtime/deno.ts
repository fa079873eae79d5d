import { NodeAdmission } from '../../http/node-admission.js'
import { watchRequest } from '../host.js'
import type { Runtime } from './runtime.js'

/** Deno runs Node's servers, too, but lacks its load signals. */
export const runtime: Runtime = {
  admission: (framework, options) => new NodeAdmission(framework, options),
  shed: () => false,
  permitTimeoutMs: 60_000,
  watch: watchRequest,
}
