// On Workers, access to another request's signal throws. A waiting request is released by the request that ends, so its
// signal is touched on behalf of another one.

/** Whether a signal is known to have fired. If it cannot be read here, its own request reports it. */
export function hasFired(signal: AbortSignal | undefined): boolean {
  try {
    return signal?.aborted === true
  } catch {
    return false
  }
}

/** Removes `listener` from `signal`. If that is impossible here, it stays, and must tolerate further calls. */
export function unlisten(signal: AbortSignal | undefined, listener: () => void): void {
  try {
    signal?.removeEventListener('abort', listener)
  } catch {
    // The listener ends with its request.
  }
}

/** Is called when a signal fires. */
interface AbortListener {
  aborted(): void
}

/**
 * Shares one listener per signal among all that wait for it. Platforms warn about signals with more than ten listeners,
 * and compare each new one with all others.
 */
export class AbortListeners<T extends AbortListener> {
  readonly #signals = new WeakMap<AbortSignal, { readonly listeners: Set<T>; readonly fired: () => void }>()

  /** Calls `listener` once when `signal` fires. If the signal throws, this throws the same, and keeps nothing. */
  add(signal: AbortSignal, listener: T): void {
    const known = this.#signals.get(signal)
    if (known !== undefined) {
      known.listeners.add(listener)
      return
    }
    const listeners = new Set([listener])
    const fired = (): void => {
      for (const one of listeners) one.aborted()
    }
    signal.addEventListener('abort', fired)
    this.#signals.set(signal, { listeners, fired })
  }

  /** Stops calling `listener`. Never throws. */
  remove(signal: AbortSignal, listener: T): void {
    const known = this.#signals.get(signal)
    if (known === undefined || !known.listeners.delete(listener) || known.listeners.size > 0) return
    this.#signals.delete(signal)
    unlisten(signal, known.fired)
  }
}
