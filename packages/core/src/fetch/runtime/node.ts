import { NodeAdmission } from '../../http/node-admission.js'
import { defaultShed } from '../../node/default-signals.js'
import { watchDetached } from '../host.js'
import type { Runtime } from './runtime.js'

/** Node reports how every response ends, and provides load signals for shedding. */
export const runtime: Runtime = {
  admission: (framework, options) => new NodeAdmission(framework, options),
  shed: defaultShed,
  permitTimeoutMs: undefined,
  watch: watchDetached,
}
