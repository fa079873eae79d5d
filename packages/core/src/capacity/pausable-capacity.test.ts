import { describe, expect, it } from 'vitest'
import type { Permit } from '../admission/decision.js'
import { createGate } from '../create-gate.js'
import { fairLimit } from '../queue/index.js'
import { requestQueue } from '../queue/request-queue.js'
import { manualClock } from '../testing/manual-clock.js'
import { fixed, pausable } from './index.js'

function gateOn(slots: ReturnType<typeof pausable>) {
  const clock = manualClock()
  return createGate({ clock, fair: false, queue: requestQueue({ concurrency: slots }) })
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('while it is paused', () => {
  it('running work goes on, new work waits, and all that fits starts at the end of the pause, in turn', async () => {
    const slots = pausable(fixed(2))
    const gate = gateOn(slots)
    const first = gate.admit({ flow: 'a' }) as Permit
    slots.pause()
    const started: string[] = []
    const pending = ['a', 'a', 'b'].map(async (flow, at) => {
      const permit = await gate.admit({ flow })
      started.push(`${flow}${at}`)
      return permit as Permit
    })
    first.finish('success')
    await settled()
    expect(gate.snapshot()).toMatchObject({ inFlight: 0, waiting: 3 })
    expect(started).toEqual([])

    slots.resume()
    await settled()
    expect(started).toHaveLength(2)
    expect(new Set(started.map((name) => name[0]))).toEqual(new Set(['a', 'b']))
    ;(await Promise.race(pending)).finish('success')
    await settled()
    expect(started).toHaveLength(3)
  })

  it('its limit is 0, it says so, and calling twice changes nothing', () => {
    const slots = pausable(fixed(2))
    slots.pause()
    slots.pause()
    expect(slots).toMatchObject({ paused: true, limit: 0, maximum: 2 })
    expect(slots.snapshot()).toEqual({ kind: 'fixed', limit: 2, inFlight: 0, paused: true })
    expect(slots.tryTake(1, 0)).toBe(false)
    slots.resume()
    slots.resume()
    expect(slots).toMatchObject({ paused: false, limit: 2 })
    expect(slots.tryTake(1, 0)).toBe(true)
  })

  it('nobody is told of slots that come back', () => {
    const [inner, told] = [fixed(1), [] as string[]]
    const slots = pausable(inner)
    slots.onAvailable(() => void told.push('told'))
    slots.tryTake(1, 0)
    expect(slots.tryTake(1, 0)).toBe(false)
    slots.pause()
    slots.release(1, 'success', 1, 1)
    inner.resize(5)
    expect(told).toEqual([])
    slots.resume()
    expect(told).toEqual(['told'])
  })

  it('a wait ends when its time is up, and nothing is held', async () => {
    const slots = pausable(fixed(1))
    const clock = manualClock()
    let timeIsUp = (): void => {}
    const after = (_ms: number, fn: () => void) => {
      timeIsUp = fn
      return () => {}
    }
    const limit = fairLimit({ concurrency: slots, maxWaitMs: 1_000, clock, after })
    slots.pause()
    const refused = limit('a', () => 1)
    clock.advance(1_001)
    timeIsUp()
    await expect(refused).rejects.toThrow('the limit has refused: expired')
    slots.resume()
    expect(await limit('a', () => 2)).toBe(2)
  })
})

it('names what is no capacity', () => {
  expect(() => pausable(8 as never)).toThrow('capacity must be a Capacity, as fixed() makes one, got 8')
  expect(() => pausable(null as never)).toThrow('got null')
})
