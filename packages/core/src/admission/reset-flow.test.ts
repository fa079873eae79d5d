import { describe, expect, it } from 'vitest'
import { createGate, type GateOptions } from '../create-gate.js'
import { escrow } from '../escrow/mechanism.js'
import { blue } from '../fair/blue.js'
import { FairTracker } from '../fair/tracker.js'
import { manualClock } from '../testing/manual-clock.js'
import type { Decision } from './decision.js'
import type { GateEvent } from './events.js'

function setUp(options: GateOptions) {
  const clock = manualClock()
  const gate = createGate({ fair: false, ...options, clock })
  const ask = (flow: string, cost = 1): Decision => gate.admit({ flow, cost }) as Decision
  return { clock, gate, ask }
}

describe('resetFlow', () => {
  it('gives a tenant its share of what is left, as if it had used nothing, and nothing twice', () => {
    const { gate, ask } = setUp({ budget: escrow({ limit: 100, windowMs: 60_000, reserve: 'strict' }) })
    ask('b')
    for (let i = 0; i < 200; i++) ask('a')
    expect(ask('a').admitted).toBe(false)
    const before = gate.snapshot().admitted
    gate.resetFlow('a')
    let more = 0
    while (ask('a').admitted) more++
    expect(before).toBe(51)
    expect(more).toBeGreaterThanOrEqual(24)
    let others = 0
    while (ask('b').admitted) others++
    expect(before + more + others).toBe(100)
  })

  it('is over with the window', () => {
    const { gate, clock, ask } = setUp({ budget: escrow({ limit: 100, windowMs: 60_000 }) })
    ask('a', 60)
    gate.resetFlow('a')
    clock.advance(60_000)
    expect(gate.snapshot().stages['budget']).toMatchObject({ used: 0 })
    expect(ask('a', 100).admitted).toBe(true)
  })

  it('takes from a flow what it owes to the clock of FAIR', () => {
    const clock = manualClock()
    const tracker = new FairTracker({ clock })
    // Known, and idle long enough for its credit to reach the maximum.
    for (const flow of ['idle', 'busy']) tracker.report(tracker.key(flow), 'success')
    clock.advance(60_000)
    for (let i = 0; i < 1_000; i++) tracker.register('busy')
    const idle = tracker.explain('idle').credit
    expect(tracker.explain('busy').credit).toBeLessThan(idle)
    tracker.forget('busy')
    expect(tracker.explain('busy').credit).toBe(idle)
  })

  it('takes from a flow what BLUE holds against it, also after the next rotation', () => {
    const clock = manualClock()
    const tracker = new FairTracker({ ...blue({ rotateEveryMs: 60_000 }), clock })
    for (let i = 0; i < 50; i++) tracker.report('a', 'failure')
    expect(tracker.probability('a')).toBeGreaterThan(0)
    tracker.forget('a')
    expect(tracker.probability('a')).toBe(0)
    clock.advance(60_000)
    expect(tracker.probability('a')).toBe(0)
  })

  it('is told to observers and to stages of one’s own, by the name that they know', () => {
    const events: GateEvent[] = []
    const reset: string[] = []
    const own = { name: 'own', admit: () => undefined, forget: (flow: string) => void reset.push(flow) }
    const bad = {
      name: 'bad',
      admit: () => undefined,
      forget: () => {
        throw new Error('cannot')
      },
    }
    const { gate, ask } = setUp({ stages: [bad, own], fair: {} })
    const name = 'x'.repeat(1_000)
    gate.observe((event) => events.push(event))
    ask(name)
    gate.resetFlow(name)
    const { flow } = events[0] as { flow: string }
    expect(reset).toEqual([flow])
    expect(events.map(({ type }) => type)).toEqual(['admitted', 'error', 'reset'])
    expect(events[2]).toEqual({ type: 'reset', flow })
    expect(() => gate.resetFlow('')).toThrow('flow must be a non-empty string')
  })
})
