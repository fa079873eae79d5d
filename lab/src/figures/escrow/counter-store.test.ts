import { manualClock } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { CounterStore } from './counter-store.js'

const TERMS = { name: 'pool', limit: 100, windowMs: 1_000, quantum: 40 }
const none = { weight: 0, used: 0 }
const tenants = [{ tenant: 't', weight: 1, used: 0, rate: 1, ask: 0 }]
const call = {
  ...{
    pool: TERMS,
    member: 'a',
    win: 0,
    holds: 0,
    spent: 0,
    mark: { epoch: 0, rev: 0, total: 0, ahead: 0, members: 0 },
  },
  ...{ quiet: none, tenants },
}

describe('a plain counter', () => {
  it('gives quanta to all tenants that come, at any weight, until there is none', () => {
    const store = new CounterStore(manualClock(100))
    expect(store.lease({ ...call, seq: 1, need: 1 })).toMatchObject({ win: 0, leftMs: 900, grant: 40, held: 0 })
    expect(
      store.lease({ ...call, member: 'b', tenants: [{ ...tenants[0]!, weight: 9 }], seq: 1, need: 50 }),
    ).toMatchObject({ grant: 50 })
    expect(store.lease({ ...call, holds: 40, seq: 2, need: 1 })).toMatchObject({ grant: 10, waitMs: 0 })
    expect(store.lease({ ...call, holds: 50, seq: 3, need: 1 })).toMatchObject({ grant: 0, waitMs: 900 })
  })

  it('answers a repeated call once more, and takes credit back in its own window only', () => {
    const clock = manualClock()
    const store = new CounterStore(clock)
    for (let i = 0; i < 3; i++) expect(store.lease({ ...call, seq: 1, need: 90 })).toMatchObject({ grant: 90 })
    store.lease({ ...call, seq: 2, need: 0, holds: 60 })
    expect(store.lease({ ...call, seq: 3, need: 41, holds: 60 })).toMatchObject({ grant: 0 })
    expect(store.lease({ ...call, seq: 4, need: 40, holds: 60 })).toMatchObject({ grant: 40 })
    clock.advance(1_000)
    store.lease({ ...call, seq: 5, win: 0, need: 0, holds: 70 })
    expect(store.lease({ ...call, seq: 6, win: 1, need: 100 })).toMatchObject({ win: 1, grant: 100 })
    expect(store.lease({ ...call, seq: 7, win: 1, need: 1, holds: 100 })).toMatchObject({ grant: 0 })
  })
})
