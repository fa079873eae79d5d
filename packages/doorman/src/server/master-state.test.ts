import { describe, expect, it } from 'vitest'
import { MasterState } from './master-state.js'

describe('mastership', () => {
  it('learns from when the lock of its predecessor was seen to vanish', () => {
    const mastership = new MasterState(false, undefined)
    mastership.follows('a:1')
    mastership.lockVanished(100)
    mastership.won('b:1', true, 107)
    expect(mastership.learnFrom).toBe(100)
  })

  it('learns from its victory when another master came in between, whose lock was not seen to vanish', () => {
    const mastership = new MasterState(false, undefined)
    mastership.follows('a:1')
    mastership.lockVanished(100)
    mastership.follows('c:1')
    mastership.won('b:1', true, 200)
    expect(mastership.learnFrom).toBe(200)
  })

  it('is the master until its lock may have expired, and names no master then', () => {
    const mastership = new MasterState(false, undefined)
    mastership.won('b:1', false, 100)
    mastership.holdsUntil(110)
    expect([mastership.isMaster(109.9), mastership.isMaster(110)]).toEqual([true, false])
    expect(mastership.answer(109.9)).toEqual({ masterAddress: 'b:1' })
    expect(mastership.answer(110)).toEqual({})
    mastership.holdsUntil(120)
    expect(mastership.isMaster(110)).toBe(true)
  })
})
