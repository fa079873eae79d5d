import { describe, expect, it } from 'vitest'
import { flows, returning, runs, served } from './figures.js'

/**
 * Ten slots, 100 ms of exponential work, so 100 requests per second; 40 light flows ask 20 of them. Bounds leave room
 * for chance: the figures behind them are means of three seeds.
 */
const SEEDS = [1, 2]
const light = flows('light', 40, { perSecond: 0.5, returns: 20 })

describe('clients that come back when they were told to', () => {
  it.each([
    // Refused clients that are admitted at the second try: with 1 s for all 0.10; by the waiting requests alone, 0.10.
    ['five flows ask 125 together, for a minute', flows('heavy', 5, { perSecond: 25, returns: 20 }), 0.5, 3],
    // 0.11 with 1 s for all.
    [
      'one flow asks 300 for five seconds',
      flows('heavy', 1, { perSecond: 300, fromMs: 10_000, untilMs: 15_000, returns: 20 }),
      0.7,
      2.5,
    ],
  ] as const)(
    'are admitted, and about when they were told: %s',
    async (_, heavy, secondAdmitted, tries) => {
      const stories = await runs({ seconds: 60, options: {}, traffic: [...heavy, ...light] }, SEEDS)
      const told = returning(stories, 'heavy')
      expect(told.refused).toBeGreaterThan(2_000)
      expect(told.secondAdmitted).toBeGreaterThan(secondAdmitted)
      expect(told.tries).toBeLessThan(tries)
      expect(told.ratio50).toBeLessThan(2)
      expect(told.started).toBeGreaterThan(0.99)
      const soon = returning(
        await runs({ seconds: 60, options: {}, tellMs: 1_000, traffic: [...heavy, ...light] }, SEEDS),
        'heavy',
      )
      expect(soon.secondAdmitted).toBeLessThan(0.2)
      expect(soon.tries).toBeGreaterThan(2 * told.tries)
      const lightly = served(stories, 'light', 300)
      expect(lightly.started).toBe(1)
      expect(lightly.soon).toBeGreaterThan(0.999)
    },
    60_000,
  )
})

describe('newest first', () => {
  it.each([
    ['that stay, at 150 %', 26, undefined, 0.05, 0.5],
    ['that leave after 500 ms, at 150 %', 26, 500, 0.13, 0.5],
    ['that leave after 500 ms, at 105 %', 17, 500, 0.8, 0.82],
  ] as const)(
    'serves more clients soon: %s',
    async (_, perSecond, patienceMs, oldest, newest) => {
      const heavy = flows('heavy', 5, { perSecond, ...(patienceMs === undefined ? {} : { patienceMs }) })
      const scenario = { seconds: 30, traffic: [...heavy, ...light] }
      const fifo = await runs({ ...scenario, options: {} }, SEEDS)
      const lifo = await runs({ ...scenario, options: { newestFirst: true } }, SEEDS)
      expect(served(fifo, 'heavy', 300).soon).toBeLessThan(oldest)
      expect(served(lifo, 'heavy', 300).soon).toBeGreaterThan(newest)
      // Not worse for clients that never wait for long.
      expect(served(lifo, 'light', 300).started).toBe(1)
      expect(served(lifo, 'light', 300).soon).toBeGreaterThan(0.998)
      expect(served(lifo, 'light', 300).wait99).toBeLessThan(1.5 * served(fifo, 'light', 300).wait99)
    },
    60_000,
  )

  it('changes little where there is no overload', async () => {
    const traffic = [...flows('heavy', 5, { perSecond: 14, patienceMs: 500 }), ...light]
    const fifo = served(await runs({ seconds: 30, options: {}, traffic }, SEEDS), 'heavy', 300)
    const lifo = served(await runs({ seconds: 30, options: { newestFirst: true }, traffic }, SEEDS), 'heavy', 300)
    expect(lifo.soon).toBeGreaterThan(fifo.soon - 0.03)
    expect(lifo.started).toBeGreaterThan(fifo.started - 0.03)
  }, 60_000)
})

describe('width', () => {
  it('costs wide requests less the less may pass them, and narrow ones hardly anything', async () => {
    const narrow = flows('narrow', 20, { perSecond: 45 }).map((each) => ({ ...each, workMs: 10 }))
    const wide = flows('wide', 1, { perSecond: 2, width: 8 }).map((each) => ({ ...each, workMs: 10 }))
    const waits: { wide: number; narrow: number }[] = []
    for (const bypass of [0, 2, 1e6]) {
      const options = { bypass, maxWaitMs: 60_000, perFlowLimit: 1_000 }
      const stories = await runs({ seconds: 40, options, traffic: [...narrow, ...wide] }, SEEDS)
      waits.push({ wide: served(stories, 'wide', 300).wait50, narrow: served(stories, 'narrow', 300).wait50 })
    }
    const [kept, bounded, unbounded] = waits
    expect(kept!.wide).toBeLessThan(bounded!.wide)
    expect(bounded!.wide).toBeLessThan(0.7 * unbounded!.wide)
    expect(Math.max(...waits.map((each) => each.narrow))).toBeLessThan(10)
  }, 60_000)
})
