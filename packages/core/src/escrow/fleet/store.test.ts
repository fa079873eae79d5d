import { describe, expect, it } from 'vitest'
import { isAnswer, type LeaseAnswer, type LeaseCall } from './store.js'
import { leaseOn } from './stores.js'

const CALL: LeaseCall = {
  pool: { name: 'p', limit: 1_000, windowMs: 1_000, quantum: 10 },
  ...{ member: 'm', seq: 7, win: 12, holds: 100, spent: 50, quiet: { weight: 0, used: 0 } },
  mark: { epoch: 3, rev: 40, total: 500, ahead: 0, members: 2 },
  tenants: [{ tenant: 'a', weight: 1, used: 50, rate: 100, ask: 0 }],
  need: 10,
}
const ANSWER: LeaseAnswer = {
  ...{ win: 12, leftMs: 400, mark: { epoch: 3, rev: 41, total: 510, ahead: 0, members: 2 } },
  ...{ grant: 10, ahead: 0, held: 200, part: 0.5, turn: Number.MAX_VALUE, room: 300, waitMs: 0 },
  ...{ shares: [1], used: [50] },
}
const OTHER_EPOCH = { epoch: 12_000, rev: 2, total: 1_900, ahead: 900, members: 2 }

describe('an answer', () => {
  it.each<[string, Partial<LeaseAnswer>]>([
    ['is like the call', {}],
    ['is of the next window', { win: 13, leftMs: 1_000 }],
    ['is of a clock that was set', { win: 2_000_000_000 }],
    ['is of a clock that was set back by more than a window', { win: 10 }],
    ['counts more than the limit, since members told what a lost store had granted', { mark: OTHER_EPOCH }],
    ['counts what a higher limit has granted, in the epoch that is known', { mark: { ...ANSWER.mark, total: 5_000 } }],
  ])('can be right that %s', (_, more) => {
    expect(isAnswer({ ...ANSWER, ...more }, CALL)).toBe(true)
  })

  it('can be right that counts, for a member that comes anew, what a higher limit has granted', () => {
    const call = { ...CALL, win: -1, holds: 0, spent: 0, mark: { epoch: 0, rev: 0, total: 0, ahead: 0, members: 0 } }
    expect(isAnswer({ ...ANSWER, mark: { ...OTHER_EPOCH, total: 5_000 } }, call)).toBe(true)
  })

  it.each<[string, Partial<LeaseAnswer>]>([
    ['keeps more for a member than there is', { held: 1e12 }],
    ['leaves more of the window than its length', { leftMs: 1_001 }],
    ['is of a window before all', { win: -1 }],
    ['is of the window before that of the call', { win: 11 }],
    ['is of a time that no clock tells', { win: 2 ** 53 - 1 }],
    ['counts what was never granted', { mark: { ...OTHER_EPOCH, total: 1e15 } }],
    ['counts what was never granted of the next window', { mark: { ...OTHER_EPOCH, ahead: 1e15 } }],
    ['is of an epoch that no clock tells', { mark: { ...ANSWER.mark, epoch: 1e300 } }],
    ['grants more than the limit', { grant: 901 }],
    ['says nothing of a tenant', { used: [] }],
  ])('cannot be right that %s', (_, more) => {
    expect(isAnswer({ ...ANSWER, ...more }, CALL)).toBe(false)
  })
})

describe('a pool that a former version has saved', () => {
  it('is continued, without the numbers that it did not know', () => {
    const first = { ...CALL, seq: 1, win: -1, holds: 0, spent: 0, need: 100 }
    const { record } = leaseOn(undefined, first, 12_500)
    const { entry: _entry, ...standings } = JSON.parse(record.pool).standings
    const former = { ...record, pool: JSON.stringify({ ...JSON.parse(record.pool), standings }) }
    const call = { ...first, member: 'n', tenants: [{ ...CALL.tenants[0]!, tenant: 'b', used: 0 }] }
    expect(leaseOn(former, call, 12_510).answer).toMatchObject({ grant: 100, used: [0] })
  })
})
