import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { threadWaitedMs } from './event-loop.js'

describe('threadWaitedMs', () => {
  it('is what the kernel counts for this thread, or 0 where it counts nothing', () => {
    const before = counted()
    const waited = threadWaitedMs()
    expect(waited).toBeGreaterThanOrEqual(before)
    expect(waited).toBeLessThanOrEqual(counted())
  })

  it('never falls', () => {
    let last = 0
    for (let i = 0; i < 1_000; i++) {
      const waited = threadWaitedMs()
      expect(waited).toBeGreaterThanOrEqual(last)
      last = waited
    }
  })
})

function counted(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
