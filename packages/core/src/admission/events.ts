import { requireFunction } from '../options.js'
import { onRejection } from '../rejection.js'
import type { Outcome } from './outcome.js'
import type { OverrideChange } from './overrides.js'
import type { Refusal } from './refusal.js'

/** An event of a gate, reported synchronously. `id` is the number of the request since the gate was made. */
export type GateEvent =
  | {
      readonly type: 'admitted'
      readonly id: number
      readonly flow: string
      readonly cost: number
      readonly waitedMs: number
    }
  | {
      readonly type: 'refused'
      readonly id: number
      readonly flow: string
      readonly cost: number
      readonly waitedMs: number
      readonly refusal: Refusal
    }
  | {
      /** A stage that wanted to wait, or to ask another machine, has answered. */
      readonly type: 'waited'
      readonly id: number
      readonly flow: string
      readonly stage: string
      /** Wait at this stage alone, in milliseconds. */
      readonly waitedMs: number
    }
  | {
      readonly type: 'finished'
      readonly id: number
      readonly flow: string
      /** The settled cost, otherwise the cost at admission. */
      readonly cost: number
      readonly outcome: Outcome
      /** Time until admission, in milliseconds. */
      readonly waitedMs: number
      /** Time from admission to finish, in milliseconds. */
      readonly durationMs: number
    }
  | {
      /** `gate.resetFlow()` was called. */
      readonly type: 'reset'
      readonly flow: string
    }
  | {
      /** An override was set or cleared: see `Overrides`. */
      readonly type: 'override'
      readonly change: OverrideChange
    }
  | {
      /** A stage threw, rejected or outlasted its deadline. The request was handled as the stage's `onError` says. */
      readonly type: 'error'
      readonly stage: string
      readonly error: unknown
    }

/**
 * Receives every event of a gate. If it throws or rejects, the snapshot counts a listener's error, and nothing else
 * changes.
 */
export type GateListener = (event: GateEvent) => void

interface Observer<Event> {
  hear(event: Event): void
}

/**
 * The listeners to one kind of event. Costs nothing while there are none. An error of one is counted, and changes
 * nothing else.
 */
export class Listeners<Event> {
  #listeners: readonly Observer<Event>[] = []
  /** Number of errors of listeners so far. */
  failures = 0
  /** True if there are any; otherwise callers need not build events. */
  any = false

  /** Adds a listener; the returned function removes it. */
  add(hear: (event: Event) => void): () => void {
    requireFunction('listener', hear)
    const added: Observer<Event> = { hear }
    this.#change([...this.#listeners, added])
    return () => this.#change(this.#listeners.filter((other) => other !== added))
  }

  tell(event: Event): void {
    const failed = (): void => {
      this.failures++
    }
    for (const { hear } of this.#listeners) {
      try {
        onRejection(hear(event), failed)
      } catch {
        failed()
      }
    }
  }

  #change(listeners: readonly Observer<Event>[]): void {
    this.#listeners = listeners
    this.any = listeners.length > 0
  }
}

/** Counts of a gate since it was made, as plain JSON. */
export interface GateSnapshot {
  /** The name given to `createGate`. */
  readonly name: string
  readonly closed: boolean
  /** Requests admitted and not finished. */
  readonly inFlight: number
  /** Requests that wait for a stage's answer, or in an adapter for the promise of `flow`, `cost` or `skip`. */
  readonly waiting: number
  readonly admitted: number
  readonly refused: number
  /** Refusals by `stage:reason`; beyond the first 1000 such pairs, all others as `other:other`. */
  readonly refusedBy: Readonly<Record<string, number>>
  readonly finished: Readonly<Record<Outcome, number>>
  /** Permits that timed out; they are among those finished as `ignored`. */
  readonly expired: number
  /** Times a stage threw, rejected or outlasted its deadline. */
  readonly stageErrors: number
  /** Times an observer threw or rejected, or a listener of the gate's overrides did. */
  readonly listenerErrors: number
  /** Each stage's own snapshot, by name. */
  readonly stages: Readonly<Record<string, unknown>>
}
