import { NodeAdmission } from '../../http/node-admission.js'
import { defaultShed } from '../../node/default-signals.js'
import type { Runtime } from './runtime.js'

/** Node tells how every response ends, and by what to shed. */
export const runtime: Runtime = {
  admission: (framework, options) => new NodeAdmission(framework, options),
  shed: defaultShed,
  permitTimeoutMs: undefined,
}
