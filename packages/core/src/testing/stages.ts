import type { Outcome } from '../admission/outcome.js'
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

/** A probe's record of a request. */
export interface ProbedPassage {
  readonly flow: string
  readonly cost: number
  readonly priority: number
  readonly exempt: boolean
  /** Absent if the request named none. */
  readonly resource?: string
}

/** A stage that admits everything and records the calls of its holds. */
export interface ProbeStage extends Stage {
  /** Every request, in order. */
  readonly passages: readonly ProbedPassage[]
  /** Outcomes passed to `finish`, in order. */
  readonly outcomes: readonly Outcome[]
  /** Refusals passed to `undo`, in order. */
  readonly undone: readonly Refusal[]
  /** Holds that have been neither finished nor undone. */
  readonly outstanding: number
  /** Calls on holds that had already ended: more than none is a bug of the gate. */
  readonly doubled: number
}

/** Makes a probe. `changed` is called after every recorded call. */
export function probeStage(name: string = 'probe', changed: () => void = () => {}): ProbeStage {
  const passages: ProbedPassage[] = []
  const outcomes: Outcome[] = []
  const undone: Refusal[] = []
  let outstanding = 0
  let doubled = 0

  function hold(): Hold {
    let held = true
    outstanding++
    const giveBack = (): void => {
      if (held) outstanding--
      else doubled++
      held = false
      changed()
    }
    return {
      finish(outcome) {
        outcomes.push(outcome)
        giveBack()
      },
      undo(refusal) {
        undone.push(refusal)
        giveBack()
      },
    }
  }

  return {
    name,
    passages,
    outcomes,
    undone,
    get outstanding() {
      return outstanding
    },
    get doubled() {
      return doubled
    },
    admit({ flow, cost, resource, priority, exempt }: Passage): Hold {
      passages.push({ flow, cost, priority, exempt, ...(resource !== undefined && { resource }) })
      changed()
      return hold()
    },
  }
}
