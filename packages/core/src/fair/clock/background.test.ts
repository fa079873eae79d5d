import { describe, expect, it } from 'vitest'
import { runService, type Service } from '../simulation/service.js'
import { Background } from './background.js'
import { Capacity } from './capacity.js'
import type { ClockState } from './rule.js'

/** Twenty flows that ask two a second each, and five that ask for nothing, or for more than there is. */
const flows = Array.from({ length: 25 }, (_, flow) => flow)
const light = flows.slice(0, 20)
const heavy = flows.slice(20)
const asking = (heavyRate: number): number[] => flows.map((flow) => (flow < 20 ? 2 : heavyRate))
const common = { capacityAt: () => 100, burst: 20, seconds: 160, fair: {} }
/** 40 a second, on 100. */
const calm: Service = { ...common, ratesAt: () => asking(0), mostAsked: 40 }
/** 150 a second. */
const overload: Service = { ...common, ratesAt: () => asking(22), mostAsked: 150 }

const FROM = 20
const TO = 120
/** So large a part fails from the 20th to the 120th second, of all flows or of one. */
const failing = (share: number, of?: number) => (flow: number, seconds: number) =>
  seconds > FROM && seconds < TO && (of ?? flow) === flow ? share : 0

/** The share of failures that is put up with in the end. */
const putUpWith = ({ gate }: ReturnType<typeof runService>): number =>
  (gate.snapshot().stages['fair'] as ClockState).backgroundFailureShare

const seeds = [1, 2, 3, 4, 5]

// All bounds held for 60 seeds.
describe('failures that have nothing to do with load', () => {
  it.each([0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7])('%f, and enough for all: most are served', (share) => {
    for (const seed of seeds) {
      const run = runService({ ...calm, failsAt: failing(share) }, seed)
      expect(run.tally.share(light, FROM + 40, TO) / (1 - share)).toBeGreaterThan(0.78)
      expect(run.tally.share(light, TO + 10, 160)).toBeGreaterThan(0.98)
      expect(putUpWith(run)).toBe(0)
    }
  })

  it.each([0.1, 0.2, 0.5])(
    '%f, in an overload: the resource is used, and the light flows have their share',
    (share) => {
      for (const seed of seeds) {
        const { tally } = runService({ ...overload, failsAt: failing(share) }, seed)
        const useful = Math.min(100, 150 * (1 - share))
        expect(tally.total('served', flows, FROM + 40, TO) / (TO - FROM - 40) / useful).toBeGreaterThan(0.85)
        expect(tally.share(light, FROM + 40, TO) / (1 - share)).toBeGreaterThan(0.82)
        expect(tally.total('refused', heavy, TO, 160)).toBeGreaterThan(0)
        expect(tally.share(light, TO + 20, 160)).toBeGreaterThan(0.9)
      }
    },
  )

  it.each(['handler', 'stage'] as const)(
    'of one flow, all that it asks: the others have the rest: told by the %s',
    (told) => {
      for (const seed of seeds)
        for (const of of [0, 24]) {
          const { tally } = runService({ ...overload, told, failsAt: failing(1, of) }, seed)
          const others = light.filter((flow) => flow !== of)
          expect(tally.share(others, FROM + 40, TO)).toBeGreaterThan(0.85)
          expect(tally.total('served', flows, FROM + 40, TO) / (TO - FROM - 40)).toBeGreaterThan(65)
        }
    },
  )

  it('are not what a service has that can do less than before', () => {
    for (const seed of seeds)
      for (const part of [0, 0.2, 0.5]) {
        const capacityAt = (seconds: number): number => (seconds > 30 && seconds < 90 ? 100 * part : 100)
        const { tally } = runService({ ...overload, capacityAt }, seed)
        // A few hundred while it finds out, of nine thousand that are asked; in an outage a few a second.
        expect(tally.failed).toBeLessThan(1_500)
      }
  })
})

/** Requests at 100 a second, one after another, of which each n-th fails. */
function watched() {
  const background = new Background()
  const capacity = new Capacity()
  const latest = { serial: 0, at: 0, total: 0 }
  const pass = (requests: number, failing: number): void => {
    for (let i = 1; i <= requests; i++) {
      latest.serial++
      latest.at += 0.01
      const failed = Math.floor(i * failing) > Math.floor((i - 1) * failing)
      background.report({ ...latest }, failed, latest, true, capacity)
    }
  }
  /** Half of all begin to fail, and the capacity seems to fall: until a trial begins. */
  const suspect = (): void => {
    capacity.perSecond = 100
    pass(667, 0)
    capacity.perSecond = 60
    while (!background.limits(latest)) pass(1, Number(latest.serial % 2))
  }
  return { background, latest, pass, suspect, capacity }
}

describe('a trial', () => {
  it('begins when many fail and the capacity seems to fall, and lets in less than was served', () => {
    const { background, latest, suspect } = watched()
    suspect()
    expect(latest.serial).toBeLessThan(720)
    expect(background.mostPerSecond).toBeGreaterThan(40)
    expect(background.mostPerSecond).toBeLessThan(45)
    expect(background.absorbs(latest)).toBe(false)
  })

  it('does not begin while the capacity is as it was', () => {
    const { background, latest, pass, capacity } = watched()
    capacity.perSecond = 100
    pass(1_000, 0.5)
    capacity.perSecond = 80
    for (let i = 0; i < 500; i++) {
      pass(2, 0.5)
      expect(background.limits(latest)).toBe(false)
    }
  })

  it.each([
    ['as many fail as before', 0.5, 0.5],
    ['fewer fail', 0.1, 0],
    ['none fails', 0, 0],
    ['all fail: it is gone', 1, 0],
  ])('%s', (_, failing, found) => {
    const { background, latest, pass, suspect } = watched()
    suspect()
    pass(60, failing)
    expect(background.limits(latest)).toBe(false)
    expect(background.share).toBeCloseTo(found, 1)
    expect(background.absorbs(latest)).toBe(found > 0)
  })

  it('goes on, held against what it has seen, when more fail than before', () => {
    const { background, latest, pass, suspect } = watched()
    suspect()
    const { mostPerSecond } = background
    pass(44, 0.85)
    expect(background.share).toBe(0)
    expect(background.limits(latest)).toBe(true)
    expect(background.mostPerSecond).toBeLessThan(mostPerSecond / 2)
  })

  it('takes no longer than 20 s, however slowly requests come', () => {
    const { background, latest, pass, suspect } = watched()
    suspect()
    latest.at += 20
    expect(background.limits(latest)).toBe(false)
    pass(200, 0)
    expect(background.share).toBe(0)
    expect(background.limits(latest)).toBe(false)
  })

  it('is repeated while such failures are known, until they are gone', () => {
    const { background, latest, pass, suspect } = watched()
    suspect()
    pass(60, 0.5)
    let trials = 0
    for (let i = 0; i < 2_000; i++) {
      const before = background.limits(latest)
      pass(10, 0.5)
      if (!before && background.limits(latest)) trials++
    }
    expect(trials).toBeGreaterThan(5)
    expect(background.share).toBeCloseTo(0.5, 1)
    pass(2_000, 0)
    expect(background.share).toBe(0)
  })
})
