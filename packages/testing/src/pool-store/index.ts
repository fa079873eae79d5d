import assert from 'node:assert/strict'
import { type LeaseCall, type PoolTerms, poolTerms } from '@fairlead/core/escrow'
import { seededRandom } from '@fairlead/core/testing'
import { type ContractCase, TIMEOUT_MS } from '../contract/cases.js'
import type { PoolStoreHarness } from './harness.js'
import { Members } from './members.js'

export type { PoolStoreHarness } from './harness.js'

/**
 * A window that began in 2023, so long that none ends during a case, and hardly any of it passes for decades. Grants
 * late in a window depend on the time.
 */
const LONG_MS = 1_700_000_000_000
/** So short that windows end during a case. */
const SHORT_MS = 40

let pools = 0

/** Terms of a pool that no other case or run has used. */
function terms(windowMs: number, limit = 1_000, quantum = 10, name = 'pool'): PoolTerms {
  return poolTerms({ name: `${name}-${Math.random()}-${pools++}`, limit, windowMs, quantum })
}

/**
 * The contract that every store of pools keeps, as cases for any test runner:
 *
 * ```ts
 * for (const { name, run, timeoutMs } of poolStoreContract(harness)) it(name, run, timeoutMs)
 * ```
 *
 * The store may use any clock. The grants are compared with those of the pool in this process, one by one. Needs Node.
 */
export function poolStoreContract({ stores, forget, plays = 2 }: PoolStoreHarness): ContractCase[] {
  const cases: ContractCase[] = []
  const add = (name: string, run: () => Promise<void>): void => {
    cases.push({ name, timeoutMs: TIMEOUT_MS, run })
  }
  const members = (own: PoolTerms): Members => new Members(stores, own)

  for (let seed = 1; seed <= plays; seed++)
    for (const windowMs of [LONG_MS, SHORT_MS])
      add(`gives the grants of the pool in process, call for call (${windowMs} ms, seed ${seed})`, async () => {
        const all = members(terms(windowMs, 1_000 / 3, 7))
        await play(all, seed)
        assert.deepEqual(
          all.log.map(({ answer }) => answer),
          all.reference(),
        )
      })

  add('never grants more than the limit, with any concurrent calls', async () => {
    const all = members(terms(LONG_MS))
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, at) => all.ask(`m${at}`, 1 + (at % 50), { weight: 1 + (at % 3) })),
    )
    const sum = answers.reduce((total, { grant }) => total + grant, 0)
    assert.ok(sum <= 1_000.000_001 && sum > 300, `granted ${sum} of 1000`)
  })

  add('repeats the answer to a call that is repeated', async () => {
    const all = members(terms(LONG_MS))
    const call = all.next('a', 600)
    const first = await all.send(call)
    assert.equal(first.grant, 600)
    const again = await all.send(call)
    assert.deepEqual({ ...again, leftMs: 0 }, { ...first, leftMs: 0 })
    assert.ok(again.leftMs <= first.leftMs)
    assert.equal((await all.ask('a', 401)).grant, 0)
  })

  add('does nothing for a call that arrives after a later one', async () => {
    const all = members(terms(LONG_MS))
    const late = all.next('a', 500)
    assert.equal((await all.ask('a', 500)).grant, 500)
    assert.equal((await all.send({ ...late, win: all.log[0]!.answer.win })).grant, 0)
    assert.equal((await all.ask('b', 501)).grant, 0)
  })

  add('goes on in the window that a member has begun, where the clock is behind', async () => {
    const { win } = await members(terms(LONG_MS)).ask('a', 1)
    const { win: now, leftMs } = await members(terms(LONG_MS)).ask('a', 1, { win: win + 1 })
    assert.deepEqual({ now, leftMs }, { now: win + 1, leftMs: LONG_MS })
  })

  add('lends the claims of tenants refused more than their part to the first of them', async () => {
    const all = members(terms(LONG_MS, 1_000, 10))
    for (const member of ['a', 'b', 'c']) await all.ask(member, 10)
    const grants: number[] = []
    for (const [member, need] of [
      ['a', 600],
      ['b', 600],
      ['a', 100],
      ['c', 300],
    ] as const)
      grants.push((await all.ask(member, need)).grant)
    assert.deepEqual(grants, [0, 600, 0, 300])
    assert.deepEqual(
      all.log.map(({ answer }) => answer),
      all.reference(),
    )
  })

  add('remembers what tenants got in the last window, whatever they weigh now', async () => {
    const all = members(terms(LONG_MS, 1_000, 10))
    const { win } = await all.ask('early', 700)
    assert.equal((await all.ask('waiting', 900, { weight: 0.01 })).grant, 0)
    for (let grant = 1; grant > 0; ) grant = (await all.ask('late', 10)).grant
    const carried = async (member: string, weight = 1): Promise<number> => {
      const tenants = [{ tenant: `of ${member}`, weight, used: 0, rate: 1, ask: 0 }]
      return (await all.ask(member, 0, { win: win + 1, holds: 0, spent: 0, tenants })).used[0]!
    }
    // The early one is ahead by less than a window's budget.
    const [early, newcomer] = [await carried('early', 0.5), await carried('new')]
    assert.equal(newcomer, 0)
    assert.equal(early, 350)
    assert.equal(await carried('waiting'), 0)
    assert.equal(await carried('early', 0.25), 175)
    for (let most = 1; most > 0; ) {
      most = 0
      for (const member of ['early', 'late', 'waiting', 'new']) most = Math.max(most, (await all.ask(member, 10)).grant)
    }
    assert.deepEqual(
      all.log.map(({ answer }) => answer),
      all.reference(),
    )
  })

  add('lends the claim of a tenant that is ahead, if its call is more than its guarantee less that', async () => {
    const all = members(terms(LONG_MS))
    const { win } = await all.ask('early', 700)
    assert.equal((await all.ask('late', 900)).grant, 0)
    await all.ask('late', 0, { win: win + 1 })
    assert.deepEqual((await all.ask('early', 0, { win: win + 1, back: 700 })).used, [700])
    // Of 1700, half each is guaranteed. One has 700 of its half already: 400 is more than the rest, and less than a half.
    assert.equal((await all.ask('early', 400)).grant, 0)
    assert.equal((await all.ask('late', 900)).grant, 900)
  })

  add('keeps pools apart: by name, and by the length of their windows', async () => {
    const first = terms(LONG_MS)
    const others = [
      { ...first, name: `${first.name} ` },
      { ...first, windowMs: LONG_MS / 2 },
    ]
    for (const [at, own] of [first, ...others].entries())
      assert.equal((await members(own).ask(`m${at}`, 1_000)).grant, 1_000, JSON.stringify(own))
  })

  add('takes any name for a pool, a member or a tenant', async () => {
    for (const name of ['}{', '{', 'a b', 'a:b', '\n', 'ä', '😀', '%s', '0', '-1']) {
      const all = members(terms(LONG_MS, 1_000, 10, name))
      const tenants = [{ tenant: name, weight: 1, used: 0, rate: 5, ask: 0 }]
      assert.equal((await all.ask(name, 5, { tenants })).grant, 10, name)
      const [share] = (await all.ask('other', 5, { tenants })).shares
      assert.ok(Math.abs(share! - 0.5) < 1e-3, `${name}: ${share}`)
    }
  })

  add('serves many members', async () => {
    const all = members(terms(LONG_MS, 10_000, 1))
    for (let at = 0; at < 300; at++) assert.equal((await all.ask(`m${at}`, 1)).grant, 1)
    assert.deepEqual(all.log.at(-1)!.answer, all.reference().at(-1))
  })

  add('refuses what it cannot work with, by name, and leaves no trace', async () => {
    const all = members(terms(LONG_MS))
    const bad: [Partial<LeaseCall>, RegExp][] = [
      [{ member: '' }, /member/],
      [{ seq: 1.5 }, /seq/],
      [{ win: Number.NaN }, /win/],
      [{ need: -1 }, /need/],
      [{ left: -1 }, /left/],
      [{ ahead: -1 }, /ahead/],
      [{ wants: Number.NaN }, /wants/],
      [{ holds: Number.POSITIVE_INFINITY }, /holds/],
      [{ spent: -1 }, /spent/],
      [{ quiet: { weight: Number.NaN, used: 0 } }, /quiet\.weight/],
      [{ mark: { epoch: 0, rev: 0.5, total: 0, ahead: 0, members: 0 } }, /mark\.rev/],
      [{ tenants: [{ tenant: 'a', weight: 0, used: 0, rate: 1, ask: 0 }] }, /weight/],
      [{ tenants: [{ tenant: 'a', weight: 1, used: 0, rate: Number.NaN, ask: 0 }] }, /rate/],
      [{ tenants: [{ tenant: 'a', weight: 1, used: 0, rate: 1, ask: -1 }] }, /ask/],
      [
        { tenants: Array.from({ length: 65 }, (_, i) => ({ tenant: `${i}`, weight: 1, used: 0, rate: 1, ask: 0 })) },
        /tenants/,
      ],
      [{ tenants: [] }, /rate of the first tenant/],
      [{ pool: { ...all.terms, quantum: 1_001 } }, /quantum/],
      [{ pool: { ...all.terms, limit: Number.NaN } }, /limit/],
    ]
    for (const [part, message] of bad)
      await assert.rejects(async () => await stores[0].lease({ ...all.next('a', 1), ...part }), message)
    assert.equal((await all.ask('b', 1_000)).grant, 1_000)
  })

  add('hands credit on that a member no longer claims', async () => {
    const all = members(terms(LONG_MS))
    assert.equal((await all.ask('a', 800)).grant, 800)
    assert.equal((await all.ask('b', 300)).grant, 0)
    await all.ask('a', 0, { back: 700 })
    assert.equal((await all.ask('b', 300)).grant, 300)
  })

  add('grants credit of the next window out of its budget, to each member up to its part', async () => {
    const all = members(terms(LONG_MS))
    await all.ask('a', 10, { weight: 3 })
    await all.ask('b', 10)
    const { ahead } = await all.ask('b', 10, { wants: 400 })
    assert.equal(ahead, 250)
    const later = await all.ask('a', 10, { weight: 3, wants: 800 })
    assert.equal(later.ahead, 750)
    assert.deepEqual([later.mark.ahead, later.mark.total], [1_000, 40])
    assert.equal((await all.ask('b', 10, { ahead: 0 })).mark.ahead, 750)
  })

  add('counts credit of a window that begins once, also of a member whose tenants have gone', async () => {
    const all = members(terms(LONG_MS))
    const { win } = await all.ask('a', 10)
    assert.equal((await all.ask('a', 10, { wants: 100 })).ahead, 100)
    const tenants = [{ tenant: 'of a', weight: 1, used: 10, rate: 0, ask: 0 }]
    const { mark } = await all.ask('a', 0, { tenants, wants: 100 })
    assert.equal(mark.ahead, 100)
    const begun = await all.ask('a', 10, { win: win + 1, holds: 100, spent: 100, ahead: 0 })
    assert.deepEqual([begun.win, begun.grant, begun.mark.total], [win + 1, 10, 110])
  })

  if (forget !== undefined)
    add('learns from its members what it granted before it forgot, and grants nothing meanwhile', async () => {
      const all = members(terms(LONG_MS))
      assert.equal((await all.ask('a', 300)).grant, 300)
      assert.equal((await all.ask('b', 200)).grant, 200)
      await forget()
      // b got the last answer, so it knows everything.
      const { grant, waitMs, mark } = await all.ask('b', 1)
      assert.equal(grant, 0)
      assert.equal(mark.total, 500)
      assert.ok(waitMs > 0)
      assert.equal((await all.ask('a', 1)).mark.total, 500)
    })
  return cases
}

/** Four hundred calls: demands, returns and idle credit, retries, late arrivals, tenants of one member and of several. */
async function play(all: Members, seed: number): Promise<void> {
  const random = seededRandom(seed)
  const upTo = (most: number): number => Math.floor(random() * most)
  const names = ['a', 'b', 'c', 'd', 'e']
  for (let step = 0; step < 400; step++) {
    const old = all.log[upTo(all.log.length)]
    if (old !== undefined && random() < 0.1) {
      await all.send(old.call)
      continue
    }
    const name = names[upTo(names.length)]!
    const need = random() < 0.2 ? 0 : random() < 0.5 ? 1 + upTo(20) : 30 * random()
    const back = random() < 0.1 ? upTo(10) : 0
    const idle = random() < 0.5 ? upTo(40) : 0
    const tenants = Array.from({ length: 1 + upTo(4) }, () => ({
      tenant: `t${upTo(6)}`,
      weight: 1 + upTo(3),
      used: upTo(50),
      rate: need > 0 ? 1 + step * random() : upTo(3),
      ask: upTo(3) * upTo(20),
    }))
    // Like the calls to the pool of a group.
    const left = random() < 0.2 ? { left: 40 * random() } : {}
    const some = { weight: upTo(3), used: upTo(40) }
    const wants = random() < 0.3 ? 100 * random() : 0
    // The last two report tenants that others have, too, and some without naming them.
    if (name < 'd') await all.ask(name, need, { back, idle, weight: 0.5 + upTo(4), wants, ...left })
    else await all.ask(name, need, { back, idle, tenants, quiet: some, wants, ...left })
  }
}
