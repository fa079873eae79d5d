import { describe, expect, it } from 'vitest'
import { ADVERSARIES } from './adversaries.js'
import { fairClock, publishedRule } from './controller.js'
import { HELD_OUT } from './held-out.js'
import { penaltyAfter } from './penalty.js'
import type { Scenario } from './scenario.js'
import { DEVELOPMENT, PUBLISHED } from './scenarios.js'
import { meanOf, shortened, study } from './study.js'
import { TRACED, trace } from './trace.js'
import { copedWith } from './unrelated.js'

const ALL = [...PUBLISHED, ...DEVELOPMENT, ...HELD_OUT, ...ADVERSARIES]
const named = (name: string): Scenario => ALL.find((scenario) => scenario.name === name)!

describe('the scenarios', () => {
  it('have names of their own', () => {
    expect(new Set(ALL.map(({ name }) => name)).size).toBe(ALL.length)
  })
})

describe('both rules, as shipped', () => {
  it('in the published population: the published rule in its published bands, the clock nearly fair', () => {
    const { none, published, clock } = study(named('api'), [1])
    expect(meanOf(none, 'jain')).toBeCloseTo(0.217, 2)
    expect(meanOf(published, 'jain')).toBeGreaterThan(0.639)
    expect(meanOf(published, 'jain')).toBeLessThan(0.7)
    expect(meanOf(published, 'utilisation')).toBeGreaterThan(0.9995)
    expect(meanOf(clock, 'jain')).toBeGreaterThan(0.985)
    expect(meanOf(clock, 'windowed')).toBeGreaterThan(0.995)
    expect(meanOf(clock, 'utilisation')).toBeGreaterThan(0.99)
    expect(meanOf(clock, 'goodMean')).toBeGreaterThan(0.957)
    // Of trials that are as frequent after failures as before .047 fail.
    expect(meanOf(clock, 'failures')).toBeLessThan(0.0445)
  }, 60_000)

  it('refuse nobody while there is enough', () => {
    const { published, clock } = study(shortened(named('half load'), 0.5), [1, 2])
    expect(meanOf(published, 'refused')).toBe(0)
    expect(meanOf(clock, 'refused')).toBe(0)
  })

  it('know weights: the clock does, the published rule does not', () => {
    const { published, clock } = study(shortened(named('weights 1 and 3'), 0.5), [1])
    expect(meanOf(published, 'windowed')).toBeLessThan(0.95)
    expect(meanOf(clock, 'windowed')).toBeGreaterThan(0.99)
  })

  it('learn from reports that come late', () => {
    const { clock } = study(named('outcomes 0.3 to 0.9 s late'), [1])
    expect(meanOf(clock, 'relative')).toBeGreaterThan(0.98)
    expect(meanOf(clock, 'goodMean')).toBeGreaterThan(0.85)
  })

  it('do no harm where reports come so late that nothing is shown: the clock does not', () => {
    const { none, clock } = study(named('outcomes 5 s late'), [1])
    expect(meanOf(clock, 'relative')).toBeGreaterThan(0.93)
    expect(meanOf(clock, 'goodMean')).toBeGreaterThan(meanOf(none, 'goodMean') - 0.02)
  })

  it('leave light flows nearly all, whatever names an adversary takes: the clock does', () => {
    for (const name of ['a new name for each request', 'a new name for each of 500 requests a second']) {
      const { published, clock } = study(shortened(named(name), 0.5), [1, 2, 3, 4])
      expect(meanOf(clock, 'goodMean')).toBeGreaterThan(0.9)
      expect(meanOf(published, 'goodMean')).toBeLessThan(0.7)
    }
  })

  it('leave visitors who come once about what no control leaves them', () => {
    const { none, clock } = study(named('visitors'), [1])
    expect(meanOf(clock, 'goodMean')).toBeGreaterThan(meanOf(none, 'goodMean') - 0.05)
  })
})

describe('an aggressor that stops', () => {
  it('carries nothing of it after 30 s under the clock, and much under the published rule', () => {
    for (const othersStay of [true, false]) {
      expect(penaltyAfter(30, othersStay, fairClock, 1).aggressor).toBeGreaterThan(0.9)
      expect(penaltyAfter(30, othersStay, publishedRule, 1).aggressor).toBeLessThan(0.8)
    }
  })
})

describe('failures that have nothing to do with load', () => {
  it('cost little under the clock, and under the published rule the more the more there are', () => {
    for (const isOverload of [false, true]) {
      expect(copedWith(0.3, isOverload, fairClock, 1).during).toBeGreaterThan(0.78)
      expect(copedWith(0.3, isOverload, fairClock, 1).after).toBeGreaterThan(0.95)
      expect(copedWith(0.3, isOverload, publishedRule, 1).during).toBeLessThan(0.6)
    }
  })
})

describe('the trace', () => {
  it('shows a clock that finds the capacity again, and refuses only the heavy', () => {
    const moments = trace(TRACED, 1)
    const between = (from: number, to: number): typeof moments => moments.filter(({ at }) => from < at && at <= to)
    for (const { seen } of between(30, 40)) expect(seen).toBeCloseTo(100, -1)
    for (const { seen } of between(55, 70)) expect(seen).toBeCloseTo(50, -1)
    const refused = between(20, 40)
    expect(refused.reduce((sum, { refusedHeavy }) => sum + refusedHeavy, 0)).toBeGreaterThan(1_000)
    expect(refused.reduce((sum, { refusedLight }) => sum + refusedLight, 0)).toBeLessThan(100)
    for (const { refusedLight, refusedHeavy } of between(105, 110)) expect(refusedLight + refusedHeavy).toBe(0)
  })
})
