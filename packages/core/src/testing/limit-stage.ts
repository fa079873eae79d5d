import { type Refusal, refuse } from '../admission/refusal.js'
import type { Hold, Passage, Stage, Verdict } from '../admission/stage.js'
import { requireInteger } from '../options.js'

/** Options of {@link limitStage}. */
export interface LimitStageOptions {
  /** Most requests that may wait for a place, first come, first served. Integer, at least 0. @default 0 */
  waiters?: number
  /** @default 'limit' */
  name?: string
}

/** A stage that lets a limited number of requests run at once. */
export interface LimitStage extends Stage {
  readonly running: number
  readonly waiting: number
}

/** A waiting request. */
interface WaitingRequest {
  answer(verdict: Verdict): void
}

/**
 * Lets at most `limit` requests run at once, and up to `waiters` more wait in one line; refuses the rest with reason
 * `overload`. For tests, and as the smallest example of a stage that waits: not fair, and without a deadline.
 */
export function limitStage(limit: number, { waiters = 0, name = 'limit' }: LimitStageOptions = {}): LimitStage {
  requireInteger('limit', limit, 1)
  requireInteger('waiters', waiters, 0)
  const line = new Set<WaitingRequest>()
  const full: Refusal = refuse(name, 'overload', true, 1_000)
  let running = 0

  function leave(): void {
    running--
    const [first] = line
    if (first === undefined) return
    line.delete(first)
    first.answer(enter())
  }

  function enter(): Hold {
    running++
    return { finish: leave, undo: leave }
  }

  function wait(signal: AbortSignal | undefined): Promise<Verdict> {
    return new Promise((resolve) => {
      const waiter: WaitingRequest = {
        answer(verdict) {
          signal?.removeEventListener('abort', gone)
          resolve(verdict)
        },
      }
      const gone = (): void => {
        line.delete(waiter)
        resolve(refuse(name, 'gone', false, 0))
      }
      signal?.addEventListener('abort', gone)
      line.add(waiter)
    })
  }

  return {
    name,
    get running() {
      return running
    },
    get waiting() {
      return line.size
    },
    admit(passage: Passage): Verdict | Promise<Verdict> {
      if (running < limit) return enter()
      return line.size < waiters ? wait(passage.signal) : full
    },
    snapshot: () => ({ limit, running, waiting: line.size }),
  }
}
