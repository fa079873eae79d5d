import { NodeAdmission } from '../../http/node-admission.js'
import { defaultSignals } from '../../node/default-signals.js'
import type { Runtime } from './runtime.js'

/** Node tells how every response ends, and by what to shed. */
export const runtime: Runtime = {
  admission: (framework, options) => new NodeAdmission(framework, options),
  signals: defaultSignals,
  permitTimeoutMs: undefined,
}
