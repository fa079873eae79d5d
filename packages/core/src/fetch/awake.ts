import type { Gate } from '../admission/gate.js'
import type { Answer } from '../http/admission.js'

/** How often a request that waits looks after itself, where a timer of the gate's may have died with another. */
const WAKE_EVERY_MS = 100

/** Waits for the decision, and sees to it that the gate looks at the clock meanwhile. */
export async function awake(gate: Gate, asked: Promise<Answer>): Promise<Answer> {
  const timer = setInterval(() => gate.wake(), WAKE_EVERY_MS)
  try {
    return await asked
  } finally {
    clearInterval(timer)
  }
}

/** The options; for a gate that will be made by them, with this time-out of permits as the default. */
export function withPermitTimeout<Options extends { gate?: unknown; permitTimeoutMs?: number }>(
  options: Options,
  permitTimeoutMs: number | undefined,
): Options {
  const isOptions = typeof options === 'object' && options !== null
  if (permitTimeoutMs === undefined || !isOptions || options.gate !== undefined) return options
  return options.permitTimeoutMs === undefined ? { ...options, permitTimeoutMs } : options
}
