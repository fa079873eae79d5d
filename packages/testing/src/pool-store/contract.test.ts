import {
  type LeaseAnswer,
  type LeaseCall,
  leaseOn,
  MemoryPoolStore,
  type PoolRecord,
  type PoolStore,
  poolTerms,
  requireLease,
} from '@fairlead/core/escrow'
import { manualClock, seededRandom } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { type PoolStoreHarness, poolStoreContract } from './index.js'

/** The store in memory, on a clock that advances by up to a millisecond per call. */
class TickingStore implements PoolStore {
  readonly #clock = manualClock(1.7637e12)
  readonly #random = seededRandom(9)
  #store = new MemoryPoolStore({ clock: this.#clock })

  lease(call: LeaseCall): LeaseAnswer {
    this.#clock.advance(this.#random())
    return this.#store.lease(call)
  }

  async forget(): Promise<void> {
    this.#store = new MemoryPoolStore({ clock: this.#clock })
  }
}

/** A store that keeps pools as text, and loads only the tenants of each call. */
class TextStore implements PoolStore {
  readonly #clock = manualClock(1.7637e12)
  readonly #random = seededRandom(9)
  #records: Map<string, PoolRecord> = new Map()

  lease(call: LeaseCall): LeaseAnswer {
    poolTerms(call.pool)
    requireLease(call)
    this.#clock.advance(this.#random())
    const key = `${call.pool.name}:${call.pool.windowMs}`
    const kept = this.#records.get(key)
    const named = call.tenants.flatMap(({ tenant }) => [[tenant, kept?.tenants.get(tenant)] as const])
    const tenants = new Map(named.filter((entry): entry is [string, string] => entry[1] !== undefined))
    const { answer, record } = leaseOn(kept === undefined ? undefined : { ...kept, tenants }, call, this.#clock())
    this.#records.set(key, { ...record, tenants: new Map([...(kept?.tenants ?? []), ...record.tenants]) })
    return answer
  }

  async forget(): Promise<void> {
    this.#records = new Map()
  }
}

function harness(change?: (call: LeaseCall, lease: (call: LeaseCall) => LeaseAnswer) => LeaseAnswer): PoolStoreHarness {
  const store = new TickingStore()
  const changed: PoolStore =
    change === undefined ? store : { lease: (call) => change(call, (real) => store.lease(real)) }
  return { stores: [changed, changed], forget: () => store.forget() }
}

describe('contract of stores, in memory', () => {
  for (const { name, run } of poolStoreContract(harness())) it(name, run)
})

describe('contract of stores, of pools that are kept as text', () => {
  const store = new TextStore()
  for (const { name, run } of poolStoreContract({ stores: [store, store], forget: () => store.forget(), plays: 6 }))
    it(name, run)
})

describe('the contract notices a store that', () => {
  it.each<[string, RegExp, PoolStoreHarness]>([
    [
      'executes a repeated call again',
      /repeats the answer/,
      (() => {
        let seq = 0
        return harness((call, lease) => lease({ ...call, seq: ++seq }))
      })(),
    ],
    ['grants a little more', /grants of the pool/, harness((call, lease) => plus(lease(call), { grant: 1e-9 }))],
    ['keeps a little more', /grants of the pool/, harness((call, lease) => plus(lease(call), { held: 1e-9 }))],
    [
      'mixes pools of one name',
      /keeps pools apart/,
      harness((call, lease) => lease({ ...call, pool: { ...call.pool, name: call.pool.name.trim() } })),
    ],
    [
      'mistakes names',
      /takes any name/,
      harness((call, lease) => lease({ ...call, member: call.member === '}{' ? '{' : 'x' })),
    ],
    [
      'checks nothing',
      /refuses what it cannot/,
      harness((call, lease) => {
        try {
          return lease(call)
        } catch {
          const tenants = [{ tenant: 'b', weight: 1, used: 0, rate: 1, ask: 0 }]
          const none = { weight: 0, used: 0 }
          const mark = { epoch: 0, rev: 0, total: 0, ahead: 0, members: 0 }
          const said = { quiet: none, tenants, mark, holds: 0, spent: 0 }
          return lease({
            pool: { name: 'b', limit: 1_000, windowMs: 1_000, quantum: 1 },
            member: 'b',
            seq: 1,
            win: -1,
            need: 1,
            ...said,
          })
        }
      }),
    ],
    ['keeps to a clock that is behind', /clock is behind/, harness((call, lease) => lease({ ...call, win: -1 }))],
    ['forgets that it has forgotten', /before it forgot/, harness((call, lease) => lease({ ...call, win: -1 }))],
  ])('%s', async (_defect, name, broken) => {
    const cases = poolStoreContract(broken).filter((one) => name.test(one.name))
    expect(cases.length).toBeGreaterThan(0)
    for (const { run } of cases) await expect(run()).rejects.toThrow()
  })
})

function plus(answer: LeaseAnswer, { grant = 0, held = 0 }): LeaseAnswer {
  return { ...answer, grant: answer.grant + grant, held: answer.held + held }
}
