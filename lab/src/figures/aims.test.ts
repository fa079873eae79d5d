import { describe, expect, it } from 'vitest'
import { type Aim, goalsTable, isMet } from './aims.js'

const aim: Aim = { what: 'served, %', published: 96.6, ours: 99.04, goal: { least: 99 } }

describe('a goal', () => {
  it.each<[string, number, Aim['goal'], boolean | undefined]>([
    ['at least, above', 99.1, { least: 99 }, true],
    ['at least, the same', 99, { least: 99 }, true],
    ['at least, below', 98.9, { least: 99 }, false],
    ['at most, above', 1.1, { most: 1 }, false],
    ['at most, below', 0.9, { most: 1 }, true],
    ['between', 4, { least: 3, most: 5 }, true],
    ['beside', 6, { least: 3, most: 5 }, false],
    ['of what never ends', Number.POSITIVE_INFINITY, { most: 24 }, false],
    ['of what was not measured', Number.NaN, { most: 24 }, false],
    ['that nobody set', 5, undefined, undefined],
  ])('%s', (_, ours, goal, met) => {
    const { goal: _none, ...rest } = aim
    expect(isMet({ ...rest, ours, ...(goal && { goal }) })).toBe(met)
  })

  it('is held against what readers see', () => {
    expect(isMet({ ...aim, ours: 98.96 })).toBe(true)
    expect(isMet({ ...aim, ours: 98.96, digits: 2 })).toBe(false)
  })

  it('stands in a table between ours and its mark, which is worked out', () => {
    const { head, rows } = goalsTable([
      aim,
      { ...aim, ours: 98 },
      { what: 'soon, s', ours: 12.34, goal: { least: 98.8 - 90, most: 20 }, digits: 0 },
      { what: 'at last, s', published: Number.POSITIVE_INFINITY, ours: 1 },
    ])
    expect(head).toEqual(['', 'published', 'ours', 'goal', 'met'])
    expect(rows).toEqual([
      ['served, %', '96.6', '99.0', '≥ 99', 'met'],
      ['served, %', '96.6', '98.0', '≥ 99', 'missed'],
      ['soon, s', '–', '12', '8.8 to 20', 'met'],
      ['at last, s', 'never', '1.0', '–', '–'],
    ])
  })
})
