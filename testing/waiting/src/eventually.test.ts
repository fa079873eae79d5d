import { describe, expect, it } from 'vitest'
import { eventually } from './eventually.js'

describe('eventually', () => {
  it('looks until all that it expects holds, and gives what that came to', async () => {
    let looks = 0
    const look = async (): Promise<number> => {
      looks++
      expect(looks).toBeGreaterThan(2)
      return looks
    }
    expect(await eventually(look)).toBe(3)
    expect(looks).toBe(3)
  })
})
