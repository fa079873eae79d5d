import { NodeAdmission } from '@fairlead/core/http'
import { defaultSignals } from '@fairlead/core/node'
import type { Runtime } from './runtime.js'

/** Node tells how every response ends, and by what to shed. */
export const runtime: Runtime = {
  admission: (framework, options) => new NodeAdmission(framework, options),
  signals: defaultSignals,
  permitTimeoutMs: undefined,
}
