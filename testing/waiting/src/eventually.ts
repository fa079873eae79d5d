import { vi } from 'vitest'

/**
 * Waits until `holds` throws no more: for expectations that are to come true, and show what there was instead when they
 * do not. What must be true all the time is none: that it was not at first goes unseen here, and fails in `until`.
 *
 * It waits for as long as a machine may need that is busy, or stands still for seconds.
 */
export function eventually(holds: () => void): Promise<void> {
  return vi.waitFor(holds, { timeout: 20_000, interval: 10 })
}
