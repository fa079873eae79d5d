import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Departures } from './departures.js'

describe('who leaves', () => {
  it('hears once, of its own signal, by one listener per signal', () => {
    const departures = new Departures<{ left(): void }>()
    const signals = [new AbortController(), new AbortController()]
    const heard: number[] = []
    const leavers = Array.from({ length: 100 }, (_, i) => ({ left: () => void heard.push(i) }))
    for (const [i, leaver] of leavers.entries()) departures.add(signals[i % 2]!.signal, leaver)
    expect(signals.map(({ signal }) => getEventListeners(signal, 'abort').length)).toEqual([1, 1])
    departures.remove(signals[0]!.signal, leavers[0]!)
    signals[0]!.abort()
    signals[0]!.signal.dispatchEvent(new Event('abort'))
    expect(new Set(heard)).toEqual(new Set(leavers.map((_, i) => i).filter((i) => i > 0 && i % 2 === 0)))
  })

  it('leaves no listener behind', () => {
    const departures = new Departures<{ left(): void }>()
    const { signal } = new AbortController()
    const leavers = Array.from({ length: 3 }, () => ({ left: () => {} }))
    for (const leaver of leavers) departures.add(signal, leaver)
    for (const leaver of leavers) departures.remove(signal, leaver)
    expect(getEventListeners(signal, 'abort')).toEqual([])
    departures.add(signal, leavers[0]!)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  })

  it('is let go although its signal may not be touched any more', () => {
    const departures = new Departures<{ left(): void }>()
    const { signal } = new AbortController()
    signal.removeEventListener = () => {
      throw new Error('another request')
    }
    const leaver = { left: () => {} }
    departures.add(signal, leaver)
    expect(() => departures.remove(signal, leaver)).not.toThrow()
  })
})
