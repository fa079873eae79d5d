import { expect, it } from 'vitest'
import { Band } from './bands.js'

it('a band knows the age of each backlog, and forgets it when nothing of the flow waits', () => {
  const band = new Band(0, { minShare: 0, share: 0, kept: 0, most: 1 }, {})
  expect(band.backlogGrew('a', 10)).toBe(0)
  expect(band.backlogGrew('a', 30)).toBe(20)
  expect(band.backlogGrew('b', 35)).toBe(0)
  band.backlogShrank('a')
  expect(band.backlogGrew('a', 50)).toBe(40)
  band.backlogShrank('a')
  band.backlogShrank('a')
  expect(band.backlogGrew('b', 55)).toBe(20)
  expect(band.backlogGrew('a', 60)).toBe(0)
  band.backlogShrank('c')
  expect(band.backlogGrew('c', 70)).toBe(0)
})
