import type { ServerCapacityResourceResponse } from '@fairlead/core/doorman'
import { describe, expect, it } from 'vitest'
import { Corrections } from './resource-world.js'
import { Upstream } from './upstream.js'

const NOW = 1_000
const MINIMUM_SECONDS = 2

function standing(outstanding: number, wants: number, alive = true) {
  return { outstanding, wants, alive }
}

function answer(capacity: number, target?: number): ServerCapacityResourceResponse {
  const gets = { capacity, expiryTime: NOW + 60, refreshInterval: 8 }
  return { resourceId: 'r', gets, ...(target === undefined ? {} : { target }) }
}

/** A node with a lease of 50, of which 40 are outstanding. */
function leased(target?: number, corrections: Corrections = new Corrections()): Upstream {
  const upstream = new Upstream(corrections)
  upstream.consider(standing(0, 40), NOW)
  upstream.asked(standing(0, 40), MINIMUM_SECONDS, NOW)
  upstream.answered(answer(50, target), true, NOW)
  return upstream
}

describe('Upstream', () => {
  it('has nothing before the first answer, nor after its lease', () => {
    expect(new Upstream(new Corrections()).capacity(NOW)).toBe(0)
    expect([leased().capacity(NOW + 59), leased().capacity(NOW + 60)]).toEqual([50, 0])
    expect(leased().lease(NOW + 60)).toBeUndefined()
  })

  it.each([
    ['forward', 20, NOW + 60],
    ['back', -20, NOW + 40],
  ])('has its lease only while the old clock and the new say so: set %s', (_, seconds, end) => {
    const corrections = new Corrections()
    for (const earlier of [7, -3]) corrections.add(earlier)
    const upstream = leased(undefined, corrections)
    corrections.add(seconds)
    expect([upstream.capacity(end - 1), upstream.capacity(end)]).toEqual([50, 0])
    expect(upstream.nextAt).toBe(NOW + 8 + seconds)
    for (const [againAt, nextAt] of [
      [0, NOW + MINIMUM_SECONDS + seconds],
      [NOW + 90, NOW + 90],
    ] as const) {
      upstream.unanswered(againAt)
      expect(upstream.nextAt).toBe(nextAt)
    }
  })

  it('aims at what the parent says, or at its lease if a published parent says nothing', () => {
    expect([leased().target(NOW), leased(30).target(NOW), leased(70).target(NOW)]).toEqual([50, 30, 50])
  })

  it('hands out no more than it said was outstanding, until there is an answer, also when none comes', () => {
    const upstream = leased()
    upstream.asked(standing(40, 40), MINIMUM_SECONDS, NOW + 8)
    expect(upstream.capacity(NOW + 8)).toBe(40)
    upstream.unanswered(NOW + 10)
    expect(upstream.capacity(NOW + 10)).toBe(40)
    upstream.asked(standing(35, 40), MINIMUM_SECONDS, NOW + 10)
    expect(upstream.capacity(NOW + 10)).toBe(35)
    upstream.answered(answer(50), true, NOW + 11)
    expect(upstream.capacity(NOW + 11)).toBe(50)
  })

  it('asks at the first need, then at each refresh', () => {
    const upstream = new Upstream(new Corrections())
    expect(upstream.nextAt).toBe(Number.POSITIVE_INFINITY)
    upstream.consider(standing(0, 1), NOW)
    expect(upstream.nextAt).toBe(NOW)
    expect(leased().nextAt).toBe(NOW + 8)
  })

  it('asks early when its wants have moved by more than a fifth, not before the parent would listen', () => {
    const upstream = leased()
    upstream.consider(standing(40, 47), NOW + 1)
    expect(upstream.nextAt).toBe(NOW + 8)
    upstream.consider(standing(40, 49), NOW + 1)
    expect(upstream.nextAt).toBe(NOW + 2)
    const later = leased()
    later.consider(standing(40, 31), NOW + 5)
    expect(later.nextAt).toBe(NOW + 5)
  })

  it('asks early when it has come below its lease on the way down to its target', () => {
    const upstream = leased(30)
    upstream.consider(standing(50, 40), NOW + 3)
    expect(upstream.nextAt).toBe(NOW + 8)
    upstream.consider(standing(45, 40), NOW + 3)
    expect(upstream.nextAt).toBe(NOW + 3)
  })

  it('adds nothing to a question that is under way, and repeats it when there is no answer', () => {
    const upstream = leased()
    upstream.asked(standing(40, 40), MINIMUM_SECONDS, NOW + 8)
    upstream.consider(standing(40, 400), NOW + 9)
    expect(upstream.nextAt).toBe(Number.POSITIVE_INFINITY)
    upstream.unanswered(NOW + 8)
    expect(upstream.nextAt).toBe(NOW + 10)
  })

  it('stops asking without children, until one comes', () => {
    const upstream = leased()
    upstream.asked(standing(0, 0, false), MINIMUM_SECONDS, NOW + 8)
    upstream.answered(answer(0), false, NOW + 8)
    upstream.consider(standing(0, 0, false), NOW + 9)
    expect(upstream.nextAt).toBe(Number.POSITIVE_INFINITY)
    upstream.consider(standing(0, 5), NOW + 20)
    expect(upstream.nextAt).toBe(NOW + 20)
  })
})
