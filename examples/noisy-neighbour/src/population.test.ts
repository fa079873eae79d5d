import { describe, expect, it } from 'vitest'
import { population } from './population.js'

describe('population', () => {
  it('is 18 clients at two thirds of the fair level and 2 at ten times it', () => {
    const clients = population(300, 1.6)
    const fairLevel = 300 / 20
    expect(clients.filter(({ manner }) => manner === 'quiet')).toHaveLength(18)
    expect(clients.filter(({ manner }) => manner === 'heavy')).toHaveLength(2)
    for (const { manner, asksPerSecond } of clients)
      expect(asksPerSecond / fairLevel).toBeCloseTo(manner === 'quiet' ? 2 / 3 : 10, 9)
  })

  it.each([0.6, 1, 3])('asks %f times the capacity in all', (load) => {
    const asked = population(400, load).reduce((total, { asksPerSecond }) => total + asksPerSecond, 0)
    expect(asked).toBeCloseTo(400 * load, 9)
  })

  it('gives every client a name of its own', () => {
    expect(new Set(population(1, 1).map(({ name }) => name)).size).toBe(20)
  })
})
