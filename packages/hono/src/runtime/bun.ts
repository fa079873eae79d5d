import { NodeAdmission } from '@fairlead/core/http'
import { defaultSignals } from '@fairlead/core/node'
import type { Runtime } from './runtime.js'

/** Bun has Node's signals; a response that an outer middleware threw away ends unheard. */
export const runtime: Runtime = {
  admission: (framework, options) => new NodeAdmission(framework, options),
  signals: defaultSignals,
  permitTimeoutMs: 60_000,
}
