import { describe, expect, it } from 'vitest'
import type { LeasedFairEscrow } from './escrows.js'
import { Fleet, LIMIT } from './fixtures/fleet.js'

/** Asks for this number of units at once. */
function spend(fleet: Fleet, escrow: LeasedFairEscrow, tenant: string, units: number): void {
  for (let unit = 0; unit < units; unit++) void fleet.ask(escrow, tenant, 1)
}

describe('after a store has lost its memory, all processes together spend no more than', () => {
  it('the limit, and what a process that died spent of grants that no other one knows of', async () => {
    const fleet = new Fleet()
    const store = fleet.line()
    const [victim, other] = [fleet.escrow({ quantum: 100, store }), fleet.escrow({ quantum: 100 })]
    // The other one is answered first; what the victim draws and spends afterwards dies with it.
    fleet.at(13_010, () => spend(fleet, other, 'b', 50))
    for (let at = 0; at < 4; at++) fleet.at(13_030 + 10 * at, () => spend(fleet, victim, 'a', 100))
    await fleet.run(13_090)
    const unknown = victim.snapshot().used
    expect(unknown).toBeGreaterThan(300)
    store.isCut = true
    fleet.forget()
    for (const tenant of ['b', 'c']) {
      const escrow = tenant === 'b' ? other : fleet.escrow({ quantum: 100 })
      fleet.load(escrow, tenant, 1, 0.2, 13_100)
    }
    await fleet.run(14_000)
    expect(fleet.admitted.get(13)).toBeGreaterThan(LIMIT)
    expect(fleet.admitted.get(13)).toBeLessThanOrEqual(LIMIT + unknown)
  })

  it('the limit, and what first callers drew before one called that had called before', async () => {
    const fleet = new Fleet()
    const old = fleet.escrow({ quantum: 100 })
    fleet.load(old, 'a', 1, 0.2, 13_010, 13_200)
    await fleet.run(13_205)
    expect(fleet.admitted.get(13)).toBeGreaterThan(500)
    fleet.forget()
    // It takes the store for a new one.
    const stranger = fleet.escrow({ quantum: 100 })
    fleet.load(stranger, 'b', 1, 0.2, 13_206)
    let drawn = 0
    fleet.at(13_260, () => {
      drawn = stranger.snapshot().granted
    })
    fleet.load(old, 'a', 1, 0.2, 13_261)
    await fleet.run(14_000)
    expect(drawn).toBeGreaterThan(200)
    // A quantum may be on its way.
    expect(fleet.admitted.get(13)).toBeLessThanOrEqual(LIMIT + drawn + 100)
    await fleet.run(16_000)
    for (const win of [14, 15]) expect(fleet.admitted.get(win)).toBeLessThanOrEqual(LIMIT)
  })

  it('twice the limit in each window that its clock begins once more', async () => {
    const fleet = new Fleet()
    for (const tenant of ['a', 'b']) fleet.load(fleet.escrow(), tenant, 1, 0.5, 10_000)
    fleet.at(14_500, () => {
      fleet.skewMs = -1_600
    })
    await fleet.run(19_000)
    const windows = [...fleet.admitted].filter(([win]) => win > 10 && win < 17)
    const again = windows.filter(([, sum]) => sum > LIMIT)
    expect(again.length).toBeGreaterThan(0)
    for (const [win, sum] of windows)
      expect(sum, `${win}`).toBeLessThanOrEqual(win >= 12 && win <= 14 ? 2 * LIMIT : LIMIT)
  })

  it.each([-990, -500, -100])('the limit, where its clock is also behind, by %d ms', async (skewMs) => {
    const fleet = new Fleet()
    const used = new Map<number, number>()
    for (const tenant of ['a', 'b', 'c']) {
      const escrow = fleet.escrow()
      fleet.load(escrow, tenant, 1, 0.5, 10_000)
      // In the windows of the processes: those of the store's clock are not the same any more.
      fleet.every(100, () => {
        const { win, used: own } = escrow.snapshot()
        used.set(3 * win + tenant.charCodeAt(0) - 97, own)
      })
    }
    fleet.at(13_450, () => {
      fleet.forget()
      fleet.skewMs = skewMs
    })
    await fleet.run(19_000)
    for (let win = 11; win < 17; win++) {
      const sum = [0, 1, 2].reduce((all, at) => all + (used.get(3 * win + at) ?? 0), 0)
      expect(sum, `${win}`).toBeLessThanOrEqual(LIMIT)
    }
  })
})
