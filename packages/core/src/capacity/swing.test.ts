import { describe, expect, it } from 'vitest'
import { seededRandom } from '../testing/seeded-random.js'
import { Swing } from './two-level-limit.js'

const NATURAL_MS = 300

/**
 * Lets it read windows for `forMs` of a service with `durationMs` at each time. Returns the mean durations of the last.
 */
function follow(
  swing: Swing,
  forMs: number,
  durationMs: (ms: number) => number,
  noise: () => number = () => 1,
): number[] {
  const mean = (fromMs: number, untilMs: number): number => {
    let sum = 0
    for (let ms = fromMs; ms < untilMs; ms += 10) sum += durationMs(ms)
    return (sum / Math.ceil((untilMs - fromMs) / 10)) * noise()
  }
  const means: number[] = []
  for (let ms = 0; ms < forMs; ) {
    const elapsedMs = Math.max(NATURAL_MS, swing.windowMs)
    const halfMs = ms + elapsedMs / 2
    const drift = Math.abs(Math.log(mean(ms, halfMs) / mean(halfMs, ms + elapsedMs)))
    const last = mean(ms, ms + elapsedMs)
    swing.read({ elapsedMs, drift, effective: 50 * (elapsedMs / NATURAL_MS) })
    if (means.length > 0) swing.note(last / means.at(-1)!, 1)
    means.push(last)
    ms += elapsedMs
  }
  return means.slice(-10)
}

function wave(periodMs: number): (ms: number) => number {
  return (ms) => 150 - 100 * Math.cos((2 * Math.PI * ms) / periodMs)
}

function turns(periodMs: number): (ms: number) => number {
  return (ms) => (Math.floor((2 * ms) / periodMs) % 2 === 0 ? 50 : 250)
}

describe('Swing', () => {
  it.each([
    ['a wave of 1 s', wave(1_000)],
    ['a wave of 2 s', wave(2_000)],
    ['two levels in turn, 1 s', turns(1_000)],
    ['two levels in turn, 0.6 s', turns(600)],
  ])('makes windows so long that they average over %s', (_, durationMs) => {
    const swing = new Swing()
    const means = follow(swing, 600_000, durationMs)
    expect(swing.windowMs).toBeGreaterThan(NATURAL_MS)
    expect(swing.windowMs).toBeLessThanOrEqual(20_000)
    expect(Math.max(...means) / Math.min(...means)).toBeLessThan(1.5)
    expect(swing.factor).toBeLessThan(1.5)
  })

  it('asks for more proof until the windows are long enough', () => {
    const swing = new Swing()
    follow(swing, 7 * NATURAL_MS, turns(2 * NATURAL_MS))
    expect(swing.factor).toBeGreaterThan(4)
    follow(swing, 300_000, turns(2 * NATURAL_MS))
    expect(swing.factor).toBeLessThan(1.5)
  })

  it('makes them as short as before when the swing has gone', () => {
    const swing = new Swing()
    follow(swing, 300_000, wave(1_000))
    const { windowMs } = swing
    follow(swing, 600_000, () => 150)
    expect(windowMs).toBeGreaterThan(NATURAL_MS)
    expect(swing).toMatchObject({ windowMs: 0, factor: 1 })
  })

  it('takes neither chance nor a service that changes now and then for a swing', () => {
    const longer = Array.from({ length: 20 }, (_, i) => {
      const random = seededRandom(i + 1)
      const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
      const swing = new Swing()
      const changing = (ms: number): number => (Math.floor(ms / 20_000) % 2 === 0 ? 100 : 300)
      follow(swing, 120_000, changing, () => Math.exp(normal() / Math.sqrt(50)))
      return swing.windowMs > 0
    }).filter(Boolean)
    expect(longer.length).toBeLessThanOrEqual(2)
  })

  it('does not take what a step of the limit may cause for a swing', () => {
    const swing = new Swing()
    for (let i = 0; i < 100; i++) {
      swing.read({ elapsedMs: NATURAL_MS, drift: Number.NaN, effective: 50 })
      swing.note(i % 2 === 0 ? 2 : 0.5, i % 2 === 0 ? 2 : 0.5)
    }
    expect(swing).toMatchObject({ windowMs: 0, factor: 1 })
  })
})
