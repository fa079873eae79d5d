import { describe, expect, it } from 'vitest'
import { undo } from '../shed/fixtures/bench.js'
import { LoadShedder } from '../shed/load-shedder.js'
import { manualClock } from '../testing/manual-clock.js'
import { type Heap, heapSignal } from './index.js'

/** An engine whose collections happen when the test triggers them. */
function engine() {
  const state = { used: 0.3, pages: 0, asked: 0, watchers: 0, watched: 0, ended: () => {} }
  const heap: Heap = {
    usedBytes: () => state.used * 4e9,
    pageBytes: () => state.pages * 5e9,
    // Objects may fill four fifths of it.
    limitBytes: () => 5e9,
    collect: () => {
      state.asked++
    },
    watch(ended) {
      state.watchers++
      state.watched++
      state.ended = ended
      return () => state.watchers--
    },
  }
  return { state, heap }
}

describe('heapSignal', () => {
  it('goes by what is live after a major collection, and by what is used before the first', () => {
    const { state, heap } = engine()
    const clock = manualClock()
    const shedder = new LoadShedder({ signal: heapSignal({ heap }), clock, random: () => 0 })
    const load = () => {
      clock.advance(100)
      undo(shedder, clock())
      return shedder.snapshot().signals[0]?.load
    }
    state.used = 0.9
    expect(load()).toBeCloseTo(0.9, 12)
    state.used = 0.4
    state.ended()
    state.used = 0.92
    expect(load()).toBeCloseTo(0.4, 12)
    state.used = 0.35
    expect(load()).toBeCloseTo(0.35, 12)
  })

  it('uses the memory of requests, once it is known: ended requests are garbage, whatever is in use', () => {
    const { state, heap } = engine()
    const clock = manualClock()
    const shedder = new LoadShedder({ signal: heapSignal({ heap }), clock, random: () => 0.999_999 })
    const running: (() => void)[] = []
    // Between two collections ten more requests start, 0.02 each; then all end, and no further collection happens.
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 10; i++) {
        const permit = shedder.tryAdmit({ exempt: true })
        if (permit.admitted) running.push(permit.finish)
      }
      state.used = 0.1 + 0.02 * running.length
      state.ended()
      clock.advance(100)
    }
    shedder.tryAdmit()
    expect(shedder.snapshot().signals[0]?.load).toBeGreaterThan(0.85)
    for (const finish of running) finish()
    clock.advance(100)
    expect(shedder.tryAdmit().admitted).toBe(true)
    expect(shedder.snapshot().signals[0]?.load).toBeLessThan(0.4)
  })

  it('takes no second reading in a turn of the loop', () => {
    const { heap } = engine()
    let turn = (): void => {}
    let readings = 0
    const signal = heapSignal({
      heap: {
        ...heap,
        pageBytes: () => ++readings,
        afterTurn(turned) {
          turn = turned
        },
      },
    })
    const clock = manualClock()
    const shedder = new LoadShedder({ signal, clock })
    for (let i = 0; i < 3; i++, clock.advance(1_000)) shedder.tryAdmit()
    expect(readings).toBe(1)
    turn()
    for (let i = 0; i < 3; i++, clock.advance(1_000)) shedder.tryAdmit()
    expect(readings).toBe(2)
  })

  it('goes by a limit of your own', () => {
    const { heap } = engine()
    expect(heapSignal({ heap, limitBytes: 3e9 }).read(0)).toBeCloseTo(0.5, 12)
    expect(() => heapSignal({ limitBytes: 0 })).toThrow('limitBytes must be a number > 0, got 0')
  })

  it('counts pages where objects leave much of them unused', () => {
    const { state, heap } = engine()
    state.pages = 0.9
    expect(heapSignal({ heap }).read(0)).toBeCloseTo(0.9, 12)
  })

  it('asks for a collection where it would refuse, and not before', () => {
    const { state, heap } = engine()
    const signal = heapSignal({ heap })
    state.used = 0.74
    signal.read(0)
    expect(state.asked).toBe(0)
    state.used = 0.76
    signal.read(100)
    expect(state.asked).toBe(1)
  })

  it('watches from the first decision on, not before', () => {
    const { state, heap } = engine()
    const shedder = new LoadShedder({ signal: heapSignal({ heap }), clock: manualClock() })
    shedder.snapshot()
    expect(state.watchers).toBe(0)
    shedder.tryAdmit()
    shedder.tryAdmit()
    expect(state).toMatchObject({ watchers: 1, watched: 1 })
  })

  it('stops at the first collection after a minute without decisions, and watches again with the next', () => {
    const { state, heap } = engine()
    const clock = manualClock()
    const shedder = new LoadShedder({ signal: heapSignal({ heap }), clock })
    shedder.tryAdmit()
    clock.advance(60_000)
    state.ended()
    expect(state.watchers).toBe(1)
    clock.advance(1)
    state.ended()
    expect(state.watchers).toBe(0)
    shedder.tryAdmit()
    expect(state).toMatchObject({ watchers: 1, watched: 2 })
  })

  it('stops when the shedder closes', () => {
    const { state, heap } = engine()
    const shedder = new LoadShedder({ signal: heapSignal({ heap }), clock: manualClock() })
    shedder.tryAdmit()
    shedder.close()
    expect(state.watchers).toBe(0)
  })

  it('serves one shedder at a time', () => {
    const signal = heapSignal({ heap: engine().heap })
    const shedder = new LoadShedder({ signal })
    expect(() => new LoadShedder({ signal })).toThrow('a heapSignal serves one shedder; make one for each')
    shedder.close()
    expect(() => new LoadShedder({ signal })).not.toThrow()
  })

  it('names a bad option', () => {
    const wrong: object = { from: 1 }
    expect(() => heapSignal(wrong)).toThrow('heapSignal has no option "from"')
  })

  it('reads a share of the real heap, and keeps no process alive', () => {
    const before = process.getActiveResourcesInfo()
    const signal = heapSignal()
    expect(signal.read(0)).toBeGreaterThan(0)
    expect(signal.read(0)).toBeLessThan(1)
    expect(process.getActiveResourcesInfo()).toEqual(before)
    signal.close?.()
  })
})
