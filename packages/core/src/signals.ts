// Workers let nobody touch the signal of another request: it throws. A waiting request is released by the one that ends, which is
// another request.

/** Whether a signal has fired, as far as can be known here. Where it cannot, its own request will say so. */
export function hasFired(signal: AbortSignal | undefined): boolean {
  try {
    return signal?.aborted === true
  } catch {
    return false
  }
}

/** Takes `listener` off `signal`. Where that cannot be done here, it stays, and must mind nothing that it hears. */
export function unlisten(signal: AbortSignal | undefined, listener: () => void): void {
  try {
    signal?.removeEventListener('abort', listener)
  } catch {
    // It ends with its request.
  }
}

/** Hears that a signal fired. */
interface AbortListener {
  aborted(): void
}

/**
 * Listens to signals on behalf of many: one listener per signal, however many share it. Platforms warn of signals with
 * more than ten listeners, and compare each new one with all others.
 */
export class AbortListeners<T extends AbortListener> {
  readonly #signals = new WeakMap<AbortSignal, { readonly listeners: Set<T>; readonly fired: () => void }>()

  /** Tells `listener` when `signal` fires, once. Throws what the signal throws, and then keeps nothing. */
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

  /** No longer tells `listener`. Never throws. */
  remove(signal: AbortSignal, listener: T): void {
    const known = this.#signals.get(signal)
    if (known === undefined || !known.listeners.delete(listener) || known.listeners.size > 0) return
    this.#signals.delete(signal)
    unlisten(signal, known.fired)
  }
}
