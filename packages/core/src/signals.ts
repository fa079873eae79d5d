// Workers let nobody touch the signal of another request: it throws. What waits is let go by whoever ends, which is
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
