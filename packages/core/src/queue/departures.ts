import { unlisten } from '../signals.js'

/** Hears that the client of something is gone. */
interface Leaver {
  /** Its signal fired. */
  left(): void
}

/**
 * Who waits with which signal: one listener per signal, however many wait with it. Platforms warn of signals with more
 * than ten, and compare each new listener with all there are.
 */
export class Departures<T extends Leaver> {
  readonly #signals = new WeakMap<AbortSignal, { readonly waiting: Set<T>; readonly fired: () => void }>()

  /** Tells `leaver` when `signal` fires, once. Throws what the signal throws, and then nothing is kept. */
  add(signal: AbortSignal, leaver: T): void {
    const known = this.#signals.get(signal)
    if (known !== undefined) {
      known.waiting.add(leaver)
      return
    }
    const waiting = new Set([leaver])
    const fired = (): void => {
      for (const one of waiting) one.left()
    }
    signal.addEventListener('abort', fired)
    this.#signals.set(signal, { waiting, fired })
  }

  /** It waits no more. Never throws. */
  remove(signal: AbortSignal, leaver: T): void {
    const known = this.#signals.get(signal)
    if (known === undefined || !known.waiting.delete(leaver) || known.waiting.size > 0) return
    this.#signals.delete(signal)
    unlisten(signal, known.fired)
  }
}
