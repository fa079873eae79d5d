import { describe, expect, it } from 'vitest'
import type { Permit } from '../admission/decision.js'
import { Overrides } from '../admission/overrides.js'
import { refuse } from '../admission/refusal.js'
import { createGate, type GateOptions } from '../create-gate.js'
import { escrow } from '../escrow/mechanism.js'
import { requestQueue } from '../queue/request-queue.js'
import { logistic } from '../shed/curve.js'
import { loadShedder } from '../shed/load-shedder.js'
import { manualClock } from '../testing/manual-clock.js'
import { seededRandom } from '../testing/seeded-random.js'
import { GateTelemetry, type Reading, type TelemetryOptions } from './gate-telemetry.js'
import { INSTRUMENTS } from './instruments.js'

function rig(options: GateOptions = {}, telemetry: TelemetryOptions = {}) {
  const clock = manualClock()
  const gate = createGate({ clock, ...options })
  const values: [instrument: string, value: number][] = []
  const measured = new GateTelemetry(gate, telemetry, (instrument, value) => values.push([instrument, value]))
  return { clock, gate, measured, values }
}

/** Readings of an instrument by their attributes, without the gate's name. */
function of(readings: readonly Reading[], instrument: string): Record<string, number> {
  const own = readings.filter((reading) => reading.instrument === instrument)
  return Object.fromEntries(
    own.map(({ value, attributes }) => [
      Object.values({ ...attributes, 'fairlead.gate': '' })
        .join(':')
        .slice(1),
      value,
    ]),
  )
}

describe('what is measured of a gate', () => {
  it('counts each request once, at its end, by outcome; and its cost', () => {
    const { gate, measured } = rig({ overrides: new Overrides() })
    const permits = [1, 2, 3, 4].map((cost) => gate.admit({ flow: 'a', cost }) as Permit)
    permits[0]!.finish('success')
    permits[1]!.finish('failure')
    permits[2]!.finish('ignored', { cost: 30 })
    gate.close()
    gate.admit({ flow: 'b', cost: 50 })
    const readings = measured.readings()
    expect(of(readings, 'requests')).toEqual({ success: 1, failure: 1, ignored: 1, 'refused:gate:closed': 1 })
    expect(of(readings, 'cost')).toEqual({ success: 1, failure: 2, ignored: 30, refused: 50 })
    expect(of(readings, 'active')).toEqual({ '': 1 })
    expect(readings.every(({ attributes }) => attributes['fairlead.gate'] === 'gate')).toBe(true)
  })

  it('tells how long requests took, and how long they waited once one had to', async () => {
    const { clock, gate, values } = rig({ queue: requestQueue({ concurrency: 1 }) })
    const first = gate.admit({ flow: 'a' }) as Permit
    expect(values).toEqual([])
    const second = gate.admit({ flow: 'b' })
    clock.advance(250)
    first.finish('success')
    ;((await second) as Permit).finish('success')
    gate.admit({ flow: 'a' })
    expect(values).toEqual([
      ['duration', 0.25],
      ['wait', 0.25],
      ['duration', 0],
      ['wait', 0],
    ])
  })

  it('has fair shares of the scarce resource, and leaves out blocks, budgets and requests without a known end', () => {
    const clock = manualClock()
    const overrides = new Overrides({ clock })
    const { gate, measured } = rig({ clock, overrides, fair: false, budget: escrow({ limit: 30, windowMs: 1e9 }) })
    const ask = (flow: string, outcomes: readonly ('success' | 'failure' | 'ignored')[]): void => {
      for (const outcome of outcomes) {
        const decision = gate.admit({ flow }) as Permit
        if (decision.admitted) decision.finish(outcome)
      }
    }
    overrides.block('blocked', 1e6)
    ask('blocked', Array(100).fill('success'))
    ask('a', [...Array(10).fill('success'), ...Array(3).fill('ignored')])
    ask('b', [...Array(5).fill('success'), ...Array(5).fill('failure')])
    ask('c', Array(100).fill('success'))
    clock.advance(20_000)
    // c got the part that the budget left it, so the served cost is due to all three alike, of which b got 5.
    const served = gate.snapshot().finished.success
    expect(served).toBeLessThan(30)
    const readings = measured.readings()
    expect(of(readings, 'flows')).toEqual({ '': 3 })
    expect(of(readings, 'worstShare')['']).toBeCloseTo(5 / (served / 3))
  })

  it('says whether the innocent suffer: they do without FAIR, and hardly with it', () => {
    const [without, withFair] = [false as const, {}].map((fair) => {
      const random = seededRandom(7)
      const { clock, gate, measured } = rig({ fair, random })
      let spare = 30
      // For a minute, 18 flows send 120 a second and 2 send 360, to a resource that serves 300.
      for (let i = 0; i < 60 * 480; i++) {
        clock.advance(1_000 / 480)
        spare = Math.min(30, spare + 300 / 480)
        const flow = random() < 0.25 ? `quiet-${Math.floor(18 * random())}` : `heavy-${Math.floor(2 * random())}`
        const decision = gate.admit({ flow }) as Permit
        if (!decision.admitted) continue
        const isServed = spare >= 1
        if (isServed) spare--
        decision.finish(isServed ? 'success' : 'failure')
      }
      clock.advance(1)
      const readings = measured.readings()
      return { quiet: of(readings, 'quietShare')['']!, worst: of(readings, 'worstShare')['']! }
    })
    // As stated in docs/metrics.md.
    expect(without!.quiet).toBeCloseTo(0.62)
    expect(without!.worst).toBeCloseTo(0.53)
    expect(withFair!.quiet).toBeGreaterThan(0.97)
    expect(withFair!.worst).toBeGreaterThan(0.93)
  })

  it('has at most 60 series, and names of no flow, with every mechanism, many reasons and 20 000 flows', () => {
    const signals = Array.from({ length: 5 }, (_, i) => ({
      name: `signal-${i}`,
      kind: 'live' as const,
      curve: logistic({ from: 0.7, to: 0.9 }),
      read: () => 0.1,
    }))
    let reason = 0
    const picky = {
      name: 'picky',
      admit: () => (++reason % 3 === 0 ? refuse('picky', `reason-${reason % 60}`, false, 0) : undefined),
    }
    const { clock, gate, measured } = rig({
      overrides: new Overrides(),
      shed: loadShedder({ signals }),
      stages: [picky],
      budget: escrow({ limit: 1e6, windowMs: 1e9 }),
      queue: requestQueue({ concurrency: 1e6 }),
    })
    for (let i = 0; i < 20_000; i++) {
      clock.advance(1)
      const decision = gate.admit({ flow: `tenant-${i}`, resource: `resource-${i % 40}` }) as Permit
      if (decision.admitted) decision.finish(i % 4 === 0 ? 'failure' : 'success')
    }
    clock.advance(20_000)
    const readings = measured.readings()
    const series = new Set(readings.map(({ instrument, attributes }) => JSON.stringify([instrument, attributes])))
    expect(series.size).toBe(readings.length)
    // The two histograms are not among the readings.
    expect(series.size + 2).toBeLessThanOrEqual(60)
    expect(Object.keys(of(readings, 'requests'))).toContain('refused:other:other')
    expect(JSON.stringify(readings)).not.toContain('tenant-')
    // No reading has attributes that its instrument does not name.
    for (const { instrument, attributes } of readings)
      for (const name of Object.keys(attributes))
        expect(['fairlead.gate', ...INSTRUMENTS[instrument].attributes]).toContain(name)
  })

  it('has counts that never fall, also when more reasons come than have a series each', () => {
    let reason = 0
    const { gate, measured } = rig({
      stages: [{ name: 'picky', admit: () => refuse('picky', `${reason++ % 30}`, false, 0) }],
    })
    let before: Record<string, number> = {}
    for (let i = 0; i < 100; i++) {
      gate.admit({ flow: 'a' })
      const now = of(measured.readings(), 'requests')
      for (const [key, count] of Object.entries(before)) expect(now[key]).toBeGreaterThanOrEqual(count)
      expect(Object.values(now).reduce((sum, count) => sum + count, 0)).toBe(i + 1)
      before = now
    }
  })

  it('says nothing of mechanisms that the gate does not have, and hears nothing once closed', () => {
    const { gate, measured, values } = rig({ fair: false })
    const readings = measured.readings()
    for (const instrument of ['engaged', 'fairRate', 'shedLoad', 'limit', 'budgetUsed', 'leaseWants'])
      expect(of(readings, instrument)).toEqual({})
    measured.close()
    ;(gate.admit({ flow: 'a' }) as Permit).finish('success')
    expect(values).toEqual([])
  })

  it.each<[TelemetryOptions, string]>([
    [{ name: '' }, 'name must be a non-empty string, got ""'],
    [{ fairnessWindowMs: 0 }, 'fairnessWindowMs must be a number > 0, got 0'],
    [{ weights: 1 } as TelemetryOptions, 'telemetry has no option "weights"'],
  ])('refuses %j', (options, message) => {
    expect(() => rig({}, options)).toThrow(message)
  })

  it.each([
    [undefined, 'got undefined'],
    [null, 'got null'],
    [{}, 'got an object'],
  ])('refuses a gate that is none: %j', (gate, got) => {
    const measure = () => new GateTelemetry(gate as never, {}, () => {})
    expect(measure).toThrow(`gate must be made by createGate, or be that of an adapter, ${got}`)
  })

  it('takes a weight of 1 where weightOf throws, and counts that', () => {
    const weightOf = (): number => {
      throw new Error('no such plan')
    }
    const { clock, gate, measured } = rig({}, { weightOf })
    ;(gate.admit({ flow: 'a' }) as Permit).finish('success')
    clock.advance(20_000)
    expect(of(measured.readings(), 'worstShare')).toEqual({ '': 1 })
    expect(of(measured.readings(), 'errors')['stage']).toBeGreaterThan(0)
  })
})
