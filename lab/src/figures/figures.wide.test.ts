import { describe, expect, it } from 'vitest'
import { FIGURES, figuresOf } from './catalogue.js'
import type { Effort, Figure, Findings } from './figure.js'
import { isolation } from './isolation.js'
import { measure } from './measure.js'
import type { IsolationRow } from './plots/isolation.js'
import { recordOf } from './record.js'
import { VARIANTS, type VariantName } from './variants.js'

const LITTLE: Effort = { part: 0.02, seeds: 1 }

function make(figure: Figure): Findings | Promise<Findings> {
  return figure.make(LITTLE, () => {})
}

describe('figures', () => {
  it('are found by name, all of them without one', () => {
    expect(figuresOf([])).toBe(FIGURES)
    expect(figuresOf(['costs', 'sfq-weights']).map(({ name }) => name)).toEqual(['costs', 'weights'])
    expect(figuresOf(['shed']).map(({ name }) => name)).toEqual(['shed-curve', 'shed-memory'])
    expect(() => figuresOf(['costs', 'cost'])).toThrow(
      /^there is no figure 'cost'\n\n[\s\S]* {2}isolation +how long light/,
    )
  })

  it('have names and files of their own', () => {
    expect(new Set(FIGURES.map(({ name }) => name)).size).toBe(FIGURES.length)
    expect(new Set(FIGURES.map(({ file }) => file)).size).toBe(FIGURES.length)
  })

  it.each(FIGURES.map((figure) => [figure.name, figure] as const))(
    '%s: full tables, whole pictures',
    async (_, figure) => {
      const steps: string[] = []
      const findings = await figure.make(LITTLE, (step) => steps.push(step))
      const { pictures, data } = findings
      const { tables, goals } = recordOf(figure, findings)
      expect(steps.length).toBeGreaterThan(1)
      const ids = tables.map(({ id }) => id).filter((id) => id !== undefined)
      expect(new Set(ids).size).toBe(ids.length)
      for (const { goal, ours, met } of goals) {
        expect(met === undefined).toBe(goal === undefined)
        expect(ours).not.toBeNaN()
      }
      for (const { head, rows } of tables) {
        expect(rows.length).toBeGreaterThan(0)
        for (const row of rows) expect(row).toHaveLength(head.length)
      }
      for (const svg of Object.values(pictures)) {
        expect(svg).toMatch(/^<svg [\s\S]*<\/svg>$/)
        expect(svg).not.toMatch(/NaN|undefined|Infinity/)
      }
      expect(JSON.stringify(data).length).toBeGreaterThan(100)
    },
    120_000,
  )

  it('are the same each time', async () => {
    for (const figure of figuresOf(['weights', 'noisy-customers', 'adaptive']))
      expect(await make(figure)).toEqual(await make(figure))
  }, 60_000)
})

describe('what the pictures say', () => {
  const p99 = (name: VariantName, heavy: number): number =>
    measure({ heavy, seconds: 10 }, (seed) => VARIANTS[name].make(seed), { part: 1, seeds: 3 }).p99

  it.each([5, 10, 20])(
    'the default keeps light flows from waiting, with %i heavy ones',
    (heavy) => {
      const ours = p99('sparseFirst', heavy)
      expect(ours).toBeLessThan(0.7 * p99('textbook', heavy))
      for (const name of ['evicting1', 'evicting2', 'evicting4', 'arrivalOrder'] as const)
        expect(ours).toBeLessThan(0.3 * p99(name, heavy))
    },
    60_000,
  )

  it('hashed queues wait no longer than exact round robin', () => {
    for (const name of ['hashed', 'auto', 'perFlow'] as const)
      expect(p99(name, 10)).toBeLessThan(1.05 * p99('textbook', 10))
  }, 60_000)

  it('nobody is refused where flows have places of their own', async () => {
    const { data } = await isolation.make(LITTLE, () => {})
    for (const { measured } of data as IsolationRow[])
      for (const name of ['hashed', 'auto', 'perFlow', 'sparseFirst'] as const) expect(measured[name].lost).toBe(0)
  }, 60_000)
})
