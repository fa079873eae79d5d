import { expect, it } from 'vitest'
import { Backlogs } from './backlogs.js'

it('knows how long a flow has had something waiting, and forgets it when nothing does', () => {
  const backlogs = new Backlogs()
  expect(backlogs.came('a', 10)).toBe(0)
  expect(backlogs.came('a', 30)).toBe(20)
  expect(backlogs.came('b', 35)).toBe(0)
  backlogs.left('a')
  expect(backlogs.came('a', 50)).toBe(40)
  backlogs.left('a')
  backlogs.left('a')
  expect(backlogs.size).toBe(1)
  expect(backlogs.came('a', 60)).toBe(0)
  backlogs.left('a')
  backlogs.left('b')
  backlogs.left('c')
  expect(backlogs.size).toBe(0)
})
