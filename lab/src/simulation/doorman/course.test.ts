import { describe, expect, it } from 'vitest'
import { seededChances } from './chance.js'
import { course } from './course.js'
import { measure } from './measure.js'
import { ourSystem } from './our-system.js'
import { seven, three, two } from './published-scenarios.js'
import { publishedSystem } from './published-system.js'
import { secondsToFollow, TREE } from './shifts.js'

describe('the course of a scenario', () => {
  it('is what is measured, look by look', () => {
    const looks = course(three, publishedSystem, seededChances(1), 5)
    expect(looks.seconds).toEqual(Array.from({ length: 60 }, (_, i) => 5 * (i + 1)))
    const settled = looks.handedOut.slice(12)
    const handedOut = settled.reduce((sum, each) => sum + each, 0) / settled.length / 500
    expect(handedOut).toBeCloseTo(measure(three, publishedSystem, seededChances(1)).handedOut, 12)
  })

  it('has no capacity while nobody is the master of the root', () => {
    const { capacity } = course(two, ourSystem(), seededChances(1), 1)
    expect(capacity[118]).toBe(500)
    expect(capacity[125]).toBe(0)
    expect(capacity[145]).toBe(500)
  })

  it('does not miss what happens between two looks', () => {
    const scenario = { ...seven, seconds: 1_200 }
    const { most, handedOut } = course(scenario, publishedSystem, seededChances(1), 60)
    expect(Math.max(...most) / 500).toBe(measure(scenario, publishedSystem, seededChances(1)).most)
    expect(Math.max(...most)).toBeGreaterThan(Math.max(...handedOut))
  })

  it('of the same seed brings both systems the same wants', () => {
    const scenario = { ...seven, seconds: 600 }
    const ours = course(scenario, ourSystem(), seededChances(3), 60)
    const published = course(scenario, publishedSystem, seededChances(3), 60)
    expect(ours.wanted).toEqual(published.wanted)
  })

  it('is one of numbers also where nobody wants anything', () => {
    const { handedOut } = course({ ...TREE, wants: 0, seconds: 150 }, publishedSystem, seededChances(1), 10)
    expect(new Set(handedOut)).toEqual(new Set([0]))
    const seconds = secondsToFollow(TREE, publishedSystem, seededChances(1), 'return', 1)
    expect(seconds).toBeGreaterThan(8)
    expect(seconds).toBeLessThan(60)
  })
})
