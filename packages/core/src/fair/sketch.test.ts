import { readFileSync } from 'node:fs'
import { publishedPlaces, publishedWords } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { BlueSketch, type Combine } from './blue.js'

type Step =
  | ['a', ms: number]
  | ['r', client: number, buckets: number[], probabilities: number[], final: number, u: number, throttle: boolean]
  | ['s' | 'f', client: number, buckets: number[], probabilities: number[]]

interface Trace {
  name: string
  config: { L: number; M: number; Pi: number; Pd: number; Lambda: number; final: 'min' | 'mean' }
  murmur_seed: number
  start_ms: number
  steps: Step[]
}

const published: { clients: string[]; variants: Trace[] } = JSON.parse(
  readFileSync(new URL('./fixtures/trace.json', import.meta.url), 'utf8'),
)

describe.each(published.variants)('the published trace, $name', ({ config, murmur_seed, start_ms, steps }) => {
  it(`is met at each of its steps to 1e-12`, () => {
    let nowMs = start_ms
    const sketch = new BlueSketch(config.L, config.M, ruleOf(config), nowMs)
    const encoder = new TextEncoder()
    const places = new Int32Array(config.L)
    const read = new Float64Array(config.L)
    for (const step of steps) {
      if (step[0] === 'a') {
        nowMs += step[1]
        continue
      }
      const [kind, client, buckets, probabilities] = step
      const words = publishedWords(encoder.encode(published.clients[client]!), murmur_seed)
      publishedPlaces(words.a, words.b, config.M, places)
      expect([...places]).toEqual(buckets)
      if (kind !== 'r') sketch.learn(places, kind === 'f', nowMs)
      closeTo([...sketch.read(places, nowMs, read)], probabilities)
      if (step[0] === 'r') {
        const [, , , , final, u, throttle] = step
        closeTo([sketch.probability(places, nowMs)], [final])
        expect(u < sketch.probability(places, nowMs)).toBe(throttle)
      }
    }
  })
})

describe('BlueSketch', () => {
  const places = Int32Array.of(1, 2, 3)
  const rule = { failureIncrement: 0.25, successDecrement: 0.125, decayPerSecond: 0.1, combine: 'min' as Combine }

  it('never leaves [0, 1]', () => {
    const sketch = new BlueSketch(3, 4, rule, 0)
    for (let i = 0; i < 9; i++) sketch.learn(places, true, 0)
    expect(sketch.probability(places, 0)).toBe(1)
    for (let i = 0; i < 9; i++) sketch.learn(places, false, 0)
    expect(sketch.probability(places, 0)).toBe(0)
  })

  it('forgets at the decay rate, whenever it is asked', () => {
    const sketch = new BlueSketch(3, 4, rule, 0)
    sketch.learn(places, true, 0)
    for (const [atMs, left] of [
      [1_000, 0.904837418],
      [10_000, 0.367879441],
      [5_000, 0.60653066],
    ] as const)
      expect(sketch.probability(places, atMs)).toBeCloseTo(0.25 * left, 8)
  })

  it('takes an earlier time as no time passed', () => {
    const sketch = new BlueSketch(3, 4, rule, 10_000)
    sketch.learn(places, true, 10_000)
    expect(sketch.probability(places, 0)).toBe(0.25)
    sketch.learn(places, true, 0)
    expect(sketch.probability(places, 0)).toBe(0.5)
  })

  it('refuses a flow only for what it shares on every level', () => {
    const sketch = new BlueSketch(3, 4, rule, 0)
    for (let i = 0; i < 4; i++) sketch.learn(places, true, 0)
    expect(sketch.probability(Int32Array.of(1, 2, 0), 0)).toBe(0)
    expect(sketch.probability(Int32Array.of(1, 2, 3), 0)).toBe(1)
  })

  it.each<[Combine, number]>([
    ['mean', 0.5],
    [(all) => Math.max(...all), 0.75],
  ])('combines the levels as asked', (combine, expected) => {
    const sketch = new BlueSketch(3, 4, { ...rule, combine }, 0)
    sketch.learn(Int32Array.of(0, 0, 0), true, 0)
    sketch.learn(Int32Array.of(1, 0, 0), true, 0)
    sketch.learn(Int32Array.of(2, 1, 0), true, 0)
    expect(sketch.probability(Int32Array.of(0, 0, 0), 0)).toBeCloseTo(expected, 12)
  })

  it('tells which share of its buckets is hot', () => {
    const sketch = new BlueSketch(3, 4, rule, 0)
    for (let i = 0; i < 4; i++) sketch.learn(places, true, 0)
    expect(sketch.shareAbove(0.5, 0)).toBe(3 / 12)
    sketch.clear(0)
    expect(sketch.shareAbove(0.5, 0)).toBe(0)
  })
})

function ruleOf({ Pi, Pd, Lambda, final }: Trace['config']): ConstructorParameters<typeof BlueSketch>[2] {
  return { failureIncrement: Pi, successDecrement: Pd, decayPerSecond: Lambda, combine: final }
}

function closeTo(actual: number[], expected: number[]): void {
  expected.forEach((value, i) => {
    if (Math.abs(actual[i]! - value) > 1e-12) expect(actual).toEqual(expected)
  })
}
