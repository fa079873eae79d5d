import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../testing/seeded-random.js'
import { FlowKey, IndependentPlacement } from './placement.js'
import { TopTalkers } from './talkers.js'

const placement = new IndependentPlacement(1, 1, seededRandom(1))

function keyOf(flow: string): FlowKey {
  const key = new FlowKey(flow)
  placement.digest(key)
  return key
}

/** A request, refused or not. */
function ask(talkers: TopTalkers, flow: string, cost: number, refused: boolean): void {
  talkers.asks(keyOf(flow), cost)
  if (refused) talkers.refused(cost)
}

describe('TopTalkers', () => {
  it('lists all flows that ask, the loudest first, with exact shares while they are few', () => {
    const talkers = new TopTalkers()
    talkers.advance(0)
    for (let i = 0; i < 10; i++) ask(talkers, 'loud', 3, i % 2 === 0)
    for (let i = 0; i < 10; i++) talkers.asks(keyOf('quiet'), 1)
    expect(talkers.list()).toEqual([
      { flow: 'loud', askedShare: 0.75, askedPerSecond: 30, refusedShare: 0.5 },
      { flow: 'quiet', askedShare: 0.25, askedPerSecond: 10, refusedShare: 0 },
    ])
  })

  it('never misses a flow that asks for more than a sixteenth of everything, and overstates none', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(60), fc.constantFrom(1, 1, 0.3, 2.5)), { minLength: 1, maxLength: 300 }),
        (asks) => {
          // Flow 0 asks far more often than the others.
          const talkers = new TopTalkers()
          const exact = new Map<string, number>()
          let total = 0
          for (const [at, cost] of asks) {
            const flow = `flow-${at < 12 ? 0 : at}`
            talkers.asks(keyOf(flow), cost)
            exact.set(flow, (exact.get(flow) ?? 0) + cost)
            total += cost
          }
          const listed = new Map(talkers.list().map(({ flow, askedShare }) => [flow, askedShare]))
          expect(listed.size).toBeLessThanOrEqual(16)
          for (const [flow, cost] of exact) if (cost > (total / 16) * 1.001) expect(listed.has(flow)).toBe(true)
          for (const [flow, share] of listed) expect(share * total).toBeLessThanOrEqual(exact.get(flow)! + 1e-9)
        },
      ),
    )
  })

  it('gives the place of the flow with the least demand to another one', () => {
    const talkers = new TopTalkers()
    for (let i = 0; i < 16; i++) talkers.asks(keyOf(`flow-${i}`), i === 9 ? 0.5 : 1 + i / 4)
    for (const [name, left] of [
      ['first', 'flow-9'],
      ['second', 'flow-0'],
    ] as const) {
      talkers.asks(keyOf(name), 2)
      const listed = talkers.list().map(({ flow }) => flow)
      expect(listed).toContain(name)
      expect(listed).not.toContain(left)
      expect(listed).toHaveLength(16)
    }
  })

  it('forgets by half every ten seconds, so that flows that have stopped are overtaken', () => {
    const talkers = new TopTalkers()
    talkers.advance(0)
    for (let i = 0; i < 100; i++) talkers.asks(keyOf('old'), 1)
    talkers.advance(9_999)
    for (let i = 0; i < 50; i++) talkers.asks(keyOf('new'), 1)
    expect(talkers.list().map(({ flow }) => flow)).toEqual(['old', 'new'])
    talkers.advance(40_000)
    for (let i = 0; i < 50; i++) talkers.asks(keyOf('new'), 1)
    expect(talkers.list()[0]).toMatchObject({ flow: 'new' })
    talkers.advance(30_000)
    talkers.advance(35_000)
    expect(talkers.list()[0]).toMatchObject({ flow: 'new' })
  })
})
