import { describe, expect, it } from 'vitest'
import type { Random } from '../random.js'
import { seededRandom } from '../testing/seeded-random.js'
import { Ages, LifeTable } from './life-table.js'

type Lasting = (random: Random) => number

/** Requests that were watched from their start, each for the time that `watchedMs` returns. */
function watched(count: number, lasting: Lasting, watchedMs: Lasting, random: Random): LifeTable {
  const table = new LifeTable()
  for (let i = 0; i < count; i++) {
    const lastingMs = lasting(random)
    const untilMs = watchedMs(random)
    table.add(0, untilMs, lastingMs <= untilMs ? lastingMs : undefined)
  }
  return table
}

function exponential(meanMs: number): Lasting {
  return (random) => -meanMs * Math.log(1 - random())
}

const always = (): number => 1e6

/** Standard errors by which the first seem slower, over many trials. */
function errors(mine: (random: Random) => LifeTable, others: (random: Random) => LifeTable): number[] {
  const random = seededRandom(7)
  return Array.from({ length: 300 }, () => mine(random).slowerThan(others(random)))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

describe('LifeTable', () => {
  it.each<[string, Lasting]>([
    ['exponential', exponential(50)],
    ['one in a hundred takes 5 s', (random) => (random() < 0.01 ? 5_000 : 1)],
    ['half of them 5 s', (random) => (random() < 0.5 ? 5_000 : 1)],
    ['always the same', () => 70],
  ])('takes none for slower, by more than its error, where none is: %s', (_, lasting) => {
    // The compared requests were watched for much less time, as after a step: few of the slow ones have ended.
    const young: Lasting = (random) => 100 * random()
    const found = errors(
      (random) => watched(80, lasting, young, random),
      (random) => watched(120, lasting, always, random),
    )
    expect(Math.abs(mean(found))).toBeLessThan(0.25)
    expect(Math.sqrt(mean(found.map((z) => z * z)))).toBeLessThan(1.15)
    expect(found.filter((z) => z > 2.33).length).toBeLessThan(0.03 * found.length)
  })

  it.each([0, 0.5, 0.8])('sees that requests last twice as long, although %d of all are as quick as ever', (quick) => {
    const mixed =
      (meanMs: number): Lasting =>
      (random) =>
        random() < quick ? 1 : exponential(meanMs)(random)
    const slow = 300 / (1 - quick)
    const compare = (meanMs: number): number[] =>
      errors(
        (random) => watched(slow, mixed(meanMs), always, random),
        (random) => watched(slow, mixed(50), always, random),
      )
    expect(mean(compare(100))).toBeGreaterThan(4)
    expect(mean(compare(25))).toBeLessThan(-4)
  })

  it('compares ages that were watched in both, from wherever each was watched', () => {
    const late = (lasting: Lasting, fromMs: number, random: Random): LifeTable => {
      const table = new LifeTable()
      for (let i = 0; i < 300; i++) {
        const lastingMs = lasting(random)
        if (lastingMs > fromMs) table.add(fromMs, 1e6, lastingMs)
      }
      return table
    }
    const all = (random: Random): LifeTable => watched(300, exponential(50), always, random)
    expect(Math.abs(mean(errors((random) => late(exponential(50), 40, random), all)))).toBeLessThan(0.3)
    expect(mean(errors((random) => late(exponential(100), 40, random), all))).toBeGreaterThan(3)
    const [young, old] = [new LifeTable(), new LifeTable()]
    for (let i = 0; i < 100; i++) {
      young.add(0, 50, i < 50 ? 10 : undefined)
      old.add(100, 200, 150)
    }
    expect(young.slowerThan(old)).toBe(0)
  })

  it('adds up', () => {
    const random = seededRandom(3)
    const [a, b, both] = [new LifeTable(), new LifeTable(), new LifeTable()]
    const other = watched(100, exponential(40), always, random)
    for (let i = 0; i < 100; i++) {
      const lastingMs = exponential(60)(random)
      for (const table of [i % 2 > 0 ? a : b, both]) table.add(0, 100, lastingMs <= 100 ? lastingMs : undefined)
    }
    a.merge(b)
    expect(a.slowerThan(other)).toBeCloseTo(both.slowerThan(other), 9)
  })

  it('stands what is no age', () => {
    const odd = new LifeTable()
    for (const ms of [Number.NaN, -1, 0, 1e300, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
      for (const untilMs of [Number.NaN, -1, 0, 1e300]) odd.add(ms, untilMs, ms)
    const usual = watched(50, exponential(50), always, seededRandom(1))
    expect(odd.slowerThan(usual)).not.toBeNaN()
    expect(usual.slowerThan(odd)).not.toBeNaN()
  })
})

describe('Ages', () => {
  it('knows as much as somebody who writes down each request', () => {
    const random = seededRandom(5)
    const ages = new Ages()
    const usual = watched(200, exponential(20), always, random)
    let nowMs = 0
    let roundMs = 0
    let running: number[] = []
    let ended: { startMs: number; endMs: number }[] = []
    for (let i = 0; i < 5_000; i++) {
      const elapsedMs = random()
      ages.pass(elapsedMs)
      nowMs += elapsedMs
      const some = running[Math.floor(random() * running.length)]
      if (random() < 0.5 || some === undefined) {
        ages.start()
        running.push(nowMs)
        if (random() < 0.1) {
          ages.undo()
          running.pop()
        }
      } else {
        const noted = random() < 0.9
        ages.end(nowMs - some, noted)
        running = running.toSpliced(running.indexOf(some), 1)
        if (noted) ended.push({ startMs: some, endMs: nowMs })
      }
      if (i % 500 === 0) {
        ages.clear()
        ended = []
        roundMs = nowMs
      }
      if (i % 50 > 0) continue
      const table = new LifeTable()
      for (const startMs of running) table.add(roundMs - startMs, nowMs - startMs)
      for (const { startMs, endMs } of ended) table.add(roundMs - startMs, nowMs - startMs, endMs - startMs)
      expect(ages.table(nowMs - roundMs).slowerThan(usual)).toBeCloseTo(table.slowerThan(usual), 6)
    }
  })

  it('leaves out what started before it was made, and what never started', () => {
    const ages = new Ages()
    ages.end(5, true)
    ages.pass(10)
    ages.start()
    ages.pass(10)
    ages.end(500, true)
    for (const durationMs of [Number.NaN, Number.POSITIVE_INFINITY]) ages.end(durationMs, false)
    ages.end(10, true)
    const table = new LifeTable()
    table.add(0, 1e6, 10)
    expect(ages.table(20).slowerThan(table)).toBe(0)
  })
})
