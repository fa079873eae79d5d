import { onRejection } from '../rejection.js'
import type { Outcome } from './outcome.js'
import type { OverrideChange } from './overrides.js'
import type { Refusal } from './refusal.js'

/** What a gate tells its observers, as it happens. `id`: the request, by its number since the gate was made. */
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
      /** At this stage alone, in milliseconds. */
      readonly waitedMs: number
    }
  | {
      readonly type: 'finished'
      readonly id: number
      readonly flow: string
      /** What it really cost: as settled, else as admitted. */
      readonly cost: number
      readonly outcome: Outcome
      /** Until it was admitted, in milliseconds. */
      readonly waitedMs: number
      /** From admission to finish, in milliseconds. */
      readonly durationMs: number
    }
  | {
      /** Somebody has called `gate.resetFlow()`. */
      readonly type: 'reset'
      readonly flow: string
    }
  | {
      /** Somebody has decided about a flow, or taken that back: see `Overrides`. */
      readonly type: 'override'
      readonly change: OverrideChange
    }
  | {
      /** A stage threw, rejected or outlasted its deadline. The request was handled as the stage's `onError` says. */
      readonly type: 'error'
      readonly stage: string
      readonly error: unknown
    }

/** Hears every event of a gate. One that throws or rejects harms nothing: the snapshot counts it as a listener's error. */
export type GateListener = (event: GateEvent) => void

/** The listeners of one gate. Costs nothing while there are none. */
export class Observers {
  #listeners: readonly GateListener[] = []
  #ofErrors: readonly GateListener[] = []
  #failures = 0

  /** True if somebody listens to more than errors, so that callers need not build an event for nobody. */
  get any(): boolean {
    return this.#listeners.length > 0
  }

  /** Listeners that threw so far. */
  get failures(): number {
    return this.#failures
  }

  /** Adds a listener; the returned function removes it. */
  add(listener: GateListener, only?: 'error'): () => void {
    if (only === 'error') {
      this.#ofErrors = [...this.#ofErrors, listener]
      return () => {
        this.#ofErrors = this.#ofErrors.filter((other) => other !== listener)
      }
    }
    this.#listeners = [...this.#listeners, listener]
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener)
    }
  }

  tell(event: GateEvent): void {
    for (const listener of this.#listeners) this.#call(listener, event)
    if (event.type === 'error') for (const listener of this.#ofErrors) this.#call(listener, event)
  }

  #call(listener: GateListener, event: GateEvent): void {
    const failed = (): void => {
      this.#failures++
    }
    try {
      onRejection(listener(event), failed)
    } catch {
      failed()
    }
  }
}
