import { HttpAdmission } from '../../http/http-admission.js'
import { watchRequest } from '../host.js'
import type { Runtime } from './runtime.js'

/** Any other runtime, such as workerd: without load signals, and without the parts that only Node has. */
export const runtime: Runtime = {
  admission: (framework, options) => new HttpAdmission(framework, options),
  shed: () => false,
  permitTimeoutMs: 60_000,
  watch: watchRequest,
}
