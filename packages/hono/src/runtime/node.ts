import { defaultSignals } from '@fairlead/core/node'
import type { Runtime } from './runtime.js'

/** Node tells how every response ends, and by what to shed. */
export const runtime: Runtime = { signals: defaultSignals, permitTimeoutMs: undefined }
