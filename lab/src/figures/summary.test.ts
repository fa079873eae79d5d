import { expect, it } from 'vitest'
import { summary } from './summary.js'

const near = { what: 'near', ours: 1, goal: { most: 2 } }
const far = { what: 'far', ours: 3, goal: { most: 2 } }

it('says how many goals were met, and which were not', () => {
  const [counts, missed] = summary([
    { name: 'a', aims: [near, far, { what: 'no goal', ours: 1 }], seconds: 2 },
    { name: 'b', aims: [near], seconds: 3.2 },
  ])
  expect(counts!.rows).toEqual([
    ['a', '1', '1', '2'],
    ['b', '1', '0', '3'],
    ['all', '2', '1', '5'],
  ])
  expect(missed!.rows).toEqual([['a: far', '–', '3.0', '≤ 2', 'missed']])
})

it('has nothing to say of what was missed if nothing was', () => {
  expect(summary([{ name: 'b', aims: [near], seconds: 3 }])).toHaveLength(1)
})
