import { describe, expect, it } from 'vitest'
import { type Measures, measure } from '../../fair/measures.js'
import { PUBLISHED } from '../../fair/scenarios.js'
import { simulate } from '../../fair/simulate.js'
import { balanced, type Processes } from './processes.js'

/** Two minutes of the interface with two hundred clients. */
const API = { ...PUBLISHED.find(({ name }) => name === 'api')!, seconds: 120 }

function of(processes: Pick<Processes, 'processes' | 'way'> & Partial<Processes>): Measures {
  return measure(API, simulate(API, balanced({ routing: 'random', ...processes }), 1))
}

describe('the evaluator before eight processes', () => {
  const one = of({ processes: 1, way: 'alone' })

  it('finds them as fair as one process where they share a clock, however requests come, and if messages are lost', () => {
    for (const more of [{}, { routing: 'sticky' }, { routing: 'skewed' }, { lost: 0.05 }, { periodMs: 250 }] as const) {
      const shared = of({ processes: 8, way: 'shared', ...more })
      expect(shared.jain).toBeGreaterThan(one.jain - 0.02)
      expect(shared.goodMean).toBeGreaterThan(one.goodMean - 0.03)
      expect(shared.utilisation).toBeGreaterThan(0.98)
    }
  })

  it('finds them unfair on their own, by whatever rule', () => {
    for (const way of ['alone', 'blue'] as const) expect(of({ processes: 8, way }).jain).toBeLessThan(one.jain - 0.1)
  })
})
