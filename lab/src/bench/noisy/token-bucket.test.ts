import type { After } from '@fairlead/core'
import { manualClock } from '@fairlead/core/testing'
import { describe, expect, it, vi } from 'vitest'
import { BucketCapacity, TokenBucket } from './token-bucket.js'

describe('TokenBucket', () => {
  it('starts full, is used up, and fills at its rate up to its size', () => {
    let nowMs = 0
    const bucket = new TokenBucket({ perSecond: 10, burst: 3 }, () => nowMs)
    const takeAll = (): number => {
      let taken = 0
      while (bucket.take()) taken++
      return taken
    }
    expect(takeAll()).toBe(3)
    nowMs = 99
    expect(takeAll()).toBe(0)
    nowMs = 200
    expect(takeAll()).toBe(2)
    nowMs = 10_000
    expect(takeAll()).toBe(3)
  })
})

/** A clock with timers. */
function world(): { clock: () => number; after: After; advance: (ms: number) => void } {
  const clock = manualClock()
  const timers = new Set<{ atMs: number; fn: () => void }>()
  return {
    clock,
    after(ms, fn) {
      const timer = { atMs: clock() + ms, fn }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance(ms) {
      clock.advance(ms)
      for (const timer of timers)
        if (timer.atMs <= clock()) {
          timers.delete(timer)
          timer.fn()
        }
    },
  }
}

describe('BucketCapacity', () => {
  it('tells requests that were turned away when there is a token again, and not before', () => {
    const { clock, after, advance } = world()
    const bucket = new TokenBucket({ perSecond: 10, burst: 2 }, clock)
    const capacity = new BucketCapacity(bucket, after)
    const told = vi.fn(() => expect(capacity.tryTake(1)).toBe(true))
    capacity.onAvailable(told)
    expect([capacity.tryTake(1), capacity.tryTake(1), capacity.tryTake(1)]).toEqual([true, true, false])
    capacity.release()
    advance(99)
    expect(told).not.toHaveBeenCalled()
    advance(1)
    expect(told).toHaveBeenCalledOnce()
    advance(10_000)
    expect(told).toHaveBeenCalledOnce()
  })

  it('takes back what was not used, for the next in line', () => {
    const { clock, after } = world()
    const capacity = new BucketCapacity(new TokenBucket({ perSecond: 10, burst: 1 }, clock), after)
    const told = vi.fn(() => void capacity.tryTake(1))
    capacity.onAvailable(told)
    capacity.tryTake(1)
    capacity.tryTake(1)
    capacity.undo(1)
    expect(told).toHaveBeenCalledOnce()
    expect(capacity.tryTake(1)).toBe(false)
  })
})
