import { expect, it } from 'vitest'
import { bySeed } from './by-seed.js'
import type { Figure } from './figure.js'
import { seedsOf } from './measure.js'
import { mean } from './numbers.js'

const SEEDS = [7, 8, 9]
const figure: Figure = {
  name: 'a',
  file: 'a',
  about: 'means of seeds',
  seeds: SEEDS,
  make(effort) {
    const value = mean(seedsOf(effort, SEEDS))
    const table = {
      title: 'Means',
      head: ['', 'mean'],
      rows: [
        ['once', `${value}`],
        ['twice', `${2 * value}`],
      ],
    }
    return { aims: [{ what: 'mean', ours: value, goal: { most: 8 } }], tables: [table], pictures: {}, data: value }
  },
}

it('shows each seed alone, row by row', async () => {
  const [goals, means] = await bySeed(figure, () => {})
  expect(goals).toMatchObject({ title: 'Goals, seed by seed' })
  expect(goals!.rows.map(([, seed, , ours, , met]) => [seed, ours, met])).toEqual([
    ['7', '7.0', 'met'],
    ['8', '8.0', 'met'],
    ['9', '9.0', 'missed'],
  ])
  expect(means).toMatchObject({ head: ['', 'seed', 'mean'] })
  expect(means!.rows).toEqual([
    ['once', '7', '7'],
    ['once', '8', '8'],
    ['once', '9', '9'],
    ['twice', '7', '14'],
    ['twice', '8', '16'],
    ['twice', '9', '18'],
  ])
})

it('has nothing to show where nothing is left to chance', async () => {
  const { seeds: _, ...certain } = figure
  expect(await bySeed(certain, () => {})).toEqual([])
})
