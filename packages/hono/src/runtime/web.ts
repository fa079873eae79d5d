import type { Runtime } from './runtime.js'

/** Any other runtime, such as workerd and Deno: no signals of its own, and nothing that only Node has. */
export const runtime: Runtime = { signals: () => [], permitTimeoutMs: 60_000 }
