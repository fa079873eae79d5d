import { vi } from 'vitest'

/**
 * Waits until `holds` throws no more, and gives what it comes to: for expectations that are to come true, and show what
 * there was instead when they do not. What must be true all the time is none: that it once was not goes unseen here.
 * That fails in a look of `until`.
 *
 * It waits for as long as a machine may need that is busy, or stands still for seconds.
 */
export function eventually<T>(holds: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(holds, { timeout: 20_000, interval: 10 })
}
