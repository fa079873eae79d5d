/** Milliseconds since some fixed point, fractions allowed. Only differences are used. */
export type Clock = () => number

/** Runs `fn` once, `ms` milliseconds from now; calling what it returns cancels that. Must not keep a process alive. */
export type After = (ms: number, fn: () => void) => () => void

/** The platform's monotonic clock. A wrapper, so that replacing the global still works. */
export const systemClock: Clock = () => performance.now()

/** The platform's timer, unref'd where the runtime has such a thing. */
export const systemAfter: After = (ms, fn) => {
  const timer: unknown = setTimeout(fn, ms)
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
    timer.unref()
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>)
}

/**
 * `clock`, made to never run backwards: a jump back counts as no time passed, and time goes on from there.
 * A reading that is not a finite number repeats the last one. Steadying a steady clock changes nothing.
 */
export function steady(clock: Clock): Clock {
  const first = clock()
  let last = Number.isFinite(first) ? first : 0
  let offset = 0
  let now = last
  return () => {
    const reading = clock()
    if (reading >= last && reading < Number.POSITIVE_INFINITY) {
      last = reading
      now = reading + offset
    } else if (reading < last && reading > Number.NEGATIVE_INFINITY) {
      offset += last - reading
      last = reading
    }
    return now
  }
}
