import { seededRandom } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { ExpiryWheel } from './expiry-wheel.js'

interface Item {
  wakeAt: number
  due: number
}

function item(due: number): Item {
  return { wakeAt: 0, due }
}

describe('ExpiryWheel', () => {
  it.each([1, 2, 3])('wakes each in its second, after any postponements, advances and removals (seed %i)', (seed) => {
    const random = seededRandom(seed)
    const wheel = new ExpiryWheel<Item>()
    const items = new Set<Item>()
    let now = 1_000
    wheel.advance(now, () => {})
    for (let step = 0; step < 3_000; step++) {
      const due = now + 1 + Math.floor(random() * (random() < 0.1 ? 2_000 : 60))
      const some = [...items][Math.floor(random() * items.size)]
      if (some === undefined || random() < 0.4) {
        const fresh = item(due)
        items.add(fresh)
        wheel.schedule(fresh, due)
      } else if (random() < 0.5) {
        some.due = due
        wheel.schedule(some, due)
      } else if (random() < 0.2) {
        wheel.forget(some)
        items.delete(some)
      }
      const moved = random() < 0.7 ? Math.floor(random() * 3) : Math.floor(random() * (random() < 0.05 ? 3_000 : 30))
      now += moved
      wheel.advance(now, (woken) => {
        expect(items.has(woken)).toBe(true)
        if (woken.due <= now) items.delete(woken)
        else wheel.schedule(woken, woken.due)
      })
      for (const each of items) expect(each.due).toBeGreaterThan(now)
    }
    expect(items.size).toBeGreaterThan(0)
  })

  it('touches what is put off again and again about once per deadline', () => {
    const wheel = new ExpiryWheel<Item>()
    const client = item(60)
    let touched = 0
    wheel.schedule(client, client.due)
    for (let now = 1; now <= 600; now++) {
      client.due = now + 60
      wheel.schedule(client, client.due)
      wheel.advance(now, (woken) => {
        touched++
        wheel.schedule(woken, woken.due)
      })
    }
    expect(touched).toBeLessThanOrEqual(10)
  })

  it('does not go back', () => {
    const wheel = new ExpiryWheel<Item>()
    const woken: Item[] = []
    const only = item(12)
    wheel.advance(10, () => {})
    wheel.schedule(only, 12)
    wheel.advance(3, (each) => woken.push(each))
    expect(woken).toEqual([])
    wheel.advance(12, (each) => woken.push(each))
    expect(woken).toEqual([only])
  })

  it('wakes at most the given number at once, and loses no item', () => {
    const wheel = new ExpiryWheel<Item>()
    const woken: Item[] = []
    for (let i = 0; i < 10; i++) wheel.schedule(item(5), 5)
    wheel.schedule(item(7), 7)
    wheel.advance(9, (each) => woken.push(each), 4)
    expect([woken.length, wheel.behind]).toEqual([4, true])
    // An item that was due may be rescheduled meanwhile.
    wheel.advance(9, (each) => woken.push(each), 4)
    expect([woken.length, wheel.behind]).toEqual([8, true])
    wheel.advance(300, (each) => woken.push(each), 4)
    expect([woken.length, wheel.behind]).toEqual([11, false])
    expect(new Set(woken).size).toBe(11)
  })
})
