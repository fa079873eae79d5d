import { vi } from 'vitest'

/**
 * Waits until `holds` no longer throws, and returns its value: for expectations that are to become true; the last error
 * is shown if they do not. It is not for conditions that must always be true, because it ignores earlier failures:
 * expect those in a look of `until`.
 *
 * It waits long enough for a machine that is busy, or stalls for seconds.
 */
export function eventually<T>(holds: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(holds, { timeout: 20_000, interval: 10 })
}
