import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../testing/seeded-random.js'
import { World } from '../../testing/world.js'
import { groupings, treeOf } from '../fixtures/trace.js'
import { hierarchy } from '../hierarchy.js'
import { LeasedFairEscrow } from './escrows.js'
import { settled } from './fixtures/stores.js'
import type { LeasedDecision, LeasedTicket } from './options.js'
import type { PoolStore } from './store.js'
import { MemoryPoolStore } from './stores.js'

const WINDOW_MS = 500
const LIMIT = 400

const fleets = fc.record({
  grouping: groupings,
  weights: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 7 }),
  quantum: fc.integer({ min: 1, max: 40 }),
  processes: fc.integer({ min: 1, max: 4 }),
  /** Longest delay to the store, and back. */
  farMs: fc.integer({ min: 1, max: 60 }),
  /** Part of the calls that are lost, on the way there or back. */
  lost: fc.constantFrom(0, 0, 0.02, 0.2),
  /** Demand, in limits. */
  load: fc.double({ min: 0.3, max: 2.5, noNaN: true }),
  largest: fc.integer({ min: 1, max: 30 }),
  /** Part of the steps at which a process closes its escrow and continues, or dies. */
  ends: fc.constantFrom(0, 0, 0.002),
  seed: fc.integer(),
})

describe('a fleet of trees', () => {
  it('spends at most the limit in every window, whichever calls are late or lost, and draws ahead on each level', async () => {
    const runs = propertyRuns()
    let aheads = 0
    await fc.assert(
      fc.asyncProperty(fleets, async (fleet) => {
        const { grouping, weights, quantum, farMs, lost, largest, seed } = fleet
        const random = seededRandom(seed)
        const world = new World()
        world.advance(Math.floor(random() * WINDOW_MS))
        const pools = new MemoryPoolStore({ clock: world.clock })
        const store: PoolStore = {
          lease: (call) =>
            new Promise((resolve) => {
              if (random() < lost) return
              world.after(random() * farMs, () => {
                const answer = pools.lease(call)
                if (answer.ahead > 0 && call.pool.name !== 'api') aheads++
                if (random() >= lost) world.after(random() * farMs, () => resolve(answer))
              })
            }),
        }
        const tree = hierarchy(treeOf(weights, grouping))
        const start = () => {
          const [rate, skewMs] = [1 + (random() - 0.5) / 1_000, random() * 1e6]
          const escrow = new LeasedFairEscrow({
            ...{ pool: 'api', limit: LIMIT, windowMs: WINDOW_MS, quantum, store, tree, estimates: 'asked' },
            ...{ clock: () => skewMs + rate * world.clock(), after: world.after },
          })
          /** The window, of the store, in which a decision was made. */
          const winOf = (decision: LeasedDecision): number =>
            Math.floor(((decision as LeasedTicket).atMs - skewMs) / rate / WINDOW_MS)
          return { escrow, winOf }
        }
        const escrows = Array.from({ length: fleet.processes }, start)
        const spent = new Map<number, number>()
        const count = (win: number, amount: number): void => void spent.set(win, (spent.get(win) ?? 0) + amount)
        const book = ({ escrow, winOf }: ReturnType<typeof start>, decision: LeasedDecision): void => {
          if (!decision.allowed) return
          const [win, actual] = [winOf(decision), Math.floor(random() * decision.cost)]
          count(win, decision.cost)
          if (random() < 0.3)
            world.after(random() * 100, () => {
              void escrow.settle(decision, actual)
              if (Math.floor(world.clock() / WINDOW_MS) === win) count(win, actual - decision.cost)
            })
        }
        const perMs = (fleet.load * LIMIT) / WINDOW_MS / ((1 + largest) / 2)
        let asked = 0
        for (const untilMs = world.clock() + 5 * WINDOW_MS; world.clock() < untilMs; ) {
          const stepMs = 1 + Math.floor(random() * 8)
          for (asked += perMs * stepMs; asked >= 1; asked--) {
            const escrow = escrows[Math.floor(random() * escrows.length)]!
            const tenant = `t${Math.floor(random() * weights.length)}`
            const answer = escrow.escrow.check(tenant, 1 + Math.floor(random() * largest))
            if (answer instanceof Promise) void answer.then((late) => book(escrow, late))
            else book(escrow, answer)
          }
          for (const [at, escrow] of escrows.entries())
            if (random() < fleet.ends) {
              if (random() < 0.5) void escrow.escrow.close()
              else escrows[at] = start()
            }
          if (random() < 0.01) world.stall(random() * 1.5 * WINDOW_MS)
          world.advance(stepMs)
          await settled()
        }
        for (const [win, amount] of spent) expect(amount, `window ${win}`).toBeLessThanOrEqual(LIMIT + 1e-6)
      }),
      runs,
    )
    expect(aheads).toBeGreaterThan(runs.numRuns)
  })
})
