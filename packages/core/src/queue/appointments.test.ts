import { describe, expect, it } from 'vitest'
import { Appointments } from './appointments.js'

describe('appointments', () => {
  it('are one after the other, at the rate at which a line is served', () => {
    const appointments = new Appointments()
    const told = [1, 2, 3].map(() => appointments.give('a', 2_000, 500, 0))
    expect(told).toEqual([2_000, 2_500, 3_000])
    expect(appointments.give('a', 2_000, 500, 1_000)).toBe(2_500)
  })

  it('of one line do not put off another', () => {
    const appointments = new Appointments()
    for (let i = 0; i < 100; i++) appointments.give('a', 2_000, 500, 0)
    expect(appointments.give('b', 1_500, 500, 0)).toBe(1_500)
  })

  it('are from a second to a minute away, and no line grows beyond that', () => {
    const appointments = new Appointments()
    expect(appointments.give('a', 0, 1, 0)).toBe(1_000)
    for (let i = 0; i < 100; i++) appointments.give('b', 50_000, 10_000, 0)
    expect(appointments.give('b', 50_000, 10_000, 0)).toBe(60_000)
    expect(appointments.give('b', 0, 1, 60_000)).toBe(1_000)
  })

  it('are forgotten when nobody is to come any more, and never more than ten thousand', () => {
    const appointments = new Appointments()
    for (let i = 0; i < 50; i++) appointments.give(`a${i}`, 1_000, 100, i)
    expect(appointments.size).toBe(50)
    appointments.give('b', 1_000, 100, 1_125)
    expect(appointments.size).toBe(25)
    for (let i = 0; i < 20_000; i++) appointments.give(`c${i}`, 1_000, 100, 1_200)
    expect(appointments.size).toBeLessThanOrEqual(10_000)
    appointments.clear()
    expect(appointments.size).toBe(0)
  })
})
