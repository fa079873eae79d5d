import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../testing/seeded-random.js'
import { World } from '../../testing/world.js'
import { LeasedFairEscrow } from './escrows.js'
import { Fleet, LIMIT, WINDOW_MS } from './fixtures/fleet.js'
import type { LeasedDecision } from './options.js'
import type { LeaseAnswer, LeaseCall, StoreFailure } from './store.js'
import { MemoryPoolStore } from './stores.js'
import { sleepWatch } from './timing.js'

describe('the limit of a fleet', () => {
  it('holds where a machine sleeps and its monotonic clock stands still', async () => {
    const fleet = new Fleet()
    const { clock, after } = fleet.world
    let sleptMs = 0
    const sleeper = fleet.escrow({
      quantum: 500,
      clock: () => clock() - sleptMs,
      wallClock: clock,
      after: (ms, fn) => after(clock() < 10_060 ? ms + 3_000 : ms, fn),
    })
    const other = fleet.escrow({ quantum: 500 })
    fleet.at(10_050, () => void fleet.ask(sleeper, 'a', 10))
    fleet.at(10_060, () => {
      sleptMs = 3_000
    })
    fleet.at(13_050, () => {
      for (let i = 0; i < 20; i++) void fleet.ask(other, 'b', 50)
    })
    fleet.at(13_060, () => {
      for (let i = 0; i < 49; i++) void fleet.ask(sleeper, 'a', 10)
    })
    await fleet.run(14_000)
    expect(fleet.admitted.get(13)).toBeLessThanOrEqual(LIMIT)
    expect(fleet.admitted.get(13)).toBeGreaterThan(0.9 * LIMIT)
  })

  it.each(byWidth([300], [90, 300, 500]))(
    'holds where the wall clock of one process steps forward by %d ms',
    async (stepMs) => {
      const fleet = new Fleet()
      const { clock } = fleet.world
      let apartMs = 1e12
      const stepped = fleet.escrow({ wallClock: () => clock() + apartMs })
      fleet.load(stepped, 't0', 1, 1, 10_000)
      for (const i of [1, 2, 3]) fleet.load(fleet.escrow(), `t${i}`, 1, 1, 10_000 + i)
      fleet.at(12_870, () => {
        apartMs += stepMs
      })
      await fleet.run(15_000)
      for (const win of [11, 12, 13, 14]) {
        expect(fleet.admitted.get(win)).toBeLessThanOrEqual(LIMIT)
        expect(fleet.admitted.get(win)).toBeGreaterThan(0.95 * LIMIT)
      }
    },
  )

  it('holds where a machine sleeps beyond the end of a window, while an answer is on its way', async () => {
    const fleet = new Fleet()
    const { clock, after } = fleet.world
    let sleptMs = 0
    const store = fleet.line()
    const sleeper = fleet.escrow({
      quantum: 500,
      store: {
        lease: async (call) => {
          const answer = await store.lease(call)
          if (clock() < 12_500) await new Promise<void>((resolve) => after(520, resolve))
          return answer
        },
      },
      clock: () => clock() - sleptMs,
      wallClock: clock,
      after: (ms, fn) => after(clock() < 12_500 ? ms + 520 : ms, fn),
    })
    const other = fleet.escrow({ quantum: 500 })
    fleet.at(12_490, () => void fleet.ask(sleeper, 'a', 10))
    fleet.at(12_492, () => {
      sleptMs = 520
    })
    for (let ms = 13_030; ms < 13_480; ms += 10)
      fleet.at(ms, () => {
        void fleet.ask(sleeper, 'a', 10)
        void fleet.ask(other, 'b', 50)
      })
    await fleet.run(14_000)
    expect(fleet.admitted.get(13)).toBeLessThanOrEqual(LIMIT)
    expect(fleet.admitted.get(13)).toBeGreaterThan(0.9 * LIMIT)
  })

  it.each(byWidth([250], [50, 250, 1_000]))(
    'costs no call more where wall clocks tell steps of %d ms alone',
    async (stepMs) => {
      const callsWith = async (wallOf: ((clock: () => number) => () => number) | undefined): Promise<number[]> => {
        const fleet = new Fleet()
        const store = fleet.line()
        const { clock } = fleet.world
        const escrows = [0, 1, 2, 3].map(() =>
          fleet.escrow({ store, onStoreError: 'last-share', ...(wallOf && { wallClock: wallOf(clock) }) }),
        )
        escrows.forEach((escrow, i) => {
          fleet.load(escrow, `t${i}`, 1, 1, 10_000 + i)
        })
        await fleet.run(12_000)
        const before = escrows.map((escrow) => escrow.snapshot().storeCalls)
        await fleet.run(14_990)
        const calls = escrows.map((escrow, i) => escrow.snapshot().storeCalls - before[i]!)
        store.isCut = true
        await fleet.run(19_000)
        for (const win of [11, 12, 13, 15, 16, 17, 18]) {
          expect(fleet.admitted.get(win)).toBeLessThanOrEqual(LIMIT)
          expect(fleet.admitted.get(win)).toBeGreaterThan(0.95 * LIMIT)
        }
        return calls
      }
      const coarse = await callsWith((clock) => () => Math.floor(clock() / stepMs) * stepMs)
      expect(coarse).toEqual(await callsWith(undefined))
    },
  )

  it.each([0, -40, 40])(
    'holds where the store is emptied just after a window began, and its clock moves by %d ms',
    async (skewMs) => {
      const fleet = new Fleet()
      for (let i = 0; i < 4; i++) fleet.load(fleet.escrow({ quantum: 50 }), `t${i}`, 25, 2.6, 10_000 + i)
      fleet.at(12_025, () => {
        fleet.forget()
        fleet.skewMs = skewMs
      })
      await fleet.run(15_000)
      for (const win of [11, 12, 13, 14]) expect(fleet.admitted.get(win)).toBeLessThanOrEqual(LIMIT)
    },
  )

  it('is exceeded, where the clock of the store goes forward, by no more than was drawn for the window that is cut short', async () => {
    const fleet = new Fleet()
    const held = 4 * 100 - 4
    for (let i = 0; i < 4; i++) {
      const escrow = fleet.escrow({ quantum: 100 })
      fleet.at(13_395 + i, () => void fleet.ask(escrow, `t${i}`, 1))
      fleet.at(13_450, () => {
        for (let k = 0; k < 95; k++) void fleet.ask(escrow, `t${i}`, 1)
      })
    }
    fleet.load(fleet.escrow({ quantum: 100 }), 'h', 1, 0.05, 13_406)
    fleet.at(13_405, () => {
      fleet.skewMs = 600
    })
    await fleet.run(15_000)
    expect(fleet.admitted.get(14)).toBeGreaterThan(LIMIT)
    expect(fleet.admitted.get(14)).toBeLessThanOrEqual(LIMIT + held)
  })

  it('is exceeded by the last share, in each later window, of a process that is cut off alone and goes on with that', async () => {
    const fleet = new Fleet()
    const store = fleet.line(2)
    const cut = fleet.escrow({ store, onStoreError: 'last-share' })
    fleet.load(cut, 'a', 1, 1.5, 10_000)
    fleet.load(cut, 'b', 1, 1.5, 10_000)
    fleet.load(fleet.escrow(), 'a', 1, 0.5, 10_000)
    fleet.at(13_300, () => {
      store.isCut = true
    })
    await fleet.run(13_400)
    const { share } = cut.snapshot()
    expect(share).toBeGreaterThan(0.3)
    await fleet.run(17_000)
    for (const win of [14, 15, 16]) {
      expect(fleet.admitted.get(win)).toBeGreaterThan(1.2 * LIMIT)
      expect(fleet.admitted.get(win)).toBeLessThanOrEqual((1 + share) * LIMIT)
    }
  })

  it('is no matter of time that passes within a check: no call is bad', async () => {
    const fleet = new Fleet()
    const { clock } = fleet.world
    const failures: StoreFailure[] = []
    for (let i = 0; i < 4; i++) {
      let [reads, lastMs] = [i, 0]
      // Up to .3 ms pass between two readings in one moment of the others.
      const own = {
        clock: () => {
          lastMs = Math.max(lastMs, clock() + (reads++ % 7) / 20)
          return lastMs
        },
        onStoreFailure: (one: StoreFailure) => failures.push(one),
      }
      const escrow = fleet.escrow({ ...own, store: fleet.line(2) })
      for (const tenant of ['a', 'b']) fleet.load(escrow, tenant, 1, 0.4, 10_000 + i)
    }
    await fleet.run(16_000)
    expect(failures).toEqual([])
    for (const win of [11, 12, 13, 14, 15]) {
      expect(fleet.admitted.get(win)).toBeLessThanOrEqual(LIMIT)
      expect(fleet.admitted.get(win)).toBeGreaterThan(0.95 * LIMIT)
    }
  })

  it.each<[string, (nowMs: number) => number]>([
    ['gives no number', () => Number.NaN],
    ['gives infinity', () => Number.POSITIVE_INFINITY],
    [
      'throws, now and then',
      (nowMs) => {
        if (Math.floor(nowMs / 70) % 2 === 0) throw new Error('no wall clock')
        return 1e12 + nowMs
      },
    ],
  ])('holds, and nobody notices, where a wall clock %s', async (_name, wallAt) => {
    const fleet = new Fleet()
    const { clock } = fleet.world
    const escrows = [0, 1].map(() => fleet.escrow({ wallClock: () => wallAt(clock()) }))
    for (const [i, escrow] of escrows.entries()) fleet.load(escrow, `t${i}`, 1, 1, 10_000 + i)
    await fleet.run(14_000)
    for (const win of [11, 12, 13]) {
      expect(fleet.admitted.get(win)).toBeLessThanOrEqual(LIMIT)
      expect(fleet.admitted.get(win)).toBeGreaterThan(0.95 * LIMIT)
    }
  })

  it('is exceeded by no more than once the limit, where the store comes and goes and all go on with their last shares', async () => {
    let [windows, above] = [0, 0]
    for (let seed = 1; seed <= byWidth(2, 12); seed++) {
      const random = seededRandom(seed)
      const fleet = new Fleet()
      const lines = [0, 1, 2, 3].map(() => fleet.line(2))
      for (const [i, store] of lines.entries()) {
        const more = { store, onStoreError: 'last-share', storeTimeoutMs: 20, quantum: 20 } as const
        fleet.load(fleet.escrow(more), `t${i}`, 1, 0.5 + random(), 10_000 + i)
      }
      const set = (isCut: boolean): void => {
        for (const store of lines) store.isCut = isCut
      }
      for (let ms = 12_000 + 300 * random(); ms < 18_000; ms += 400 * random()) {
        fleet.at(ms, () => set(true))
        ms += 400 * random()
        fleet.at(ms, () => set(false))
      }
      await fleet.run(19_000)
      for (const win of [11, 12, 13, 14, 15, 16, 17]) {
        expect(fleet.admitted.get(win)).toBeLessThanOrEqual(2 * LIMIT)
        windows++
        if (fleet.admitted.get(win)! > LIMIT) above++
      }
    }
    expect(above / windows).toBeLessThan(0.1)
  })

  it('is exceeded by what the pool kept, where the store fails for a moment, also if the first call of all was slow', async () => {
    const fleet = new Fleet()
    const store = fleet.line(90)
    const escrow = fleet.escrow({ store, onStoreError: 'last-share' })
    fleet.load(escrow, 'a', 1, 0.96, 10_000)
    fleet.load(fleet.escrow(), 'b', 20, 0.1, 12_986)
    fleet.at(10_300, () => {
      store.thereMs = 0.5
    })
    let held = 0
    fleet.at(12_880, () => {
      store.isCut = true
      held = escrow.snapshot().held
    })
    fleet.at(12_884, () => {
      store.isCut = false
    })
    await fleet.run(15_000)
    expect(fleet.admitted.get(12)).toBeLessThanOrEqual(LIMIT + held)
    for (const win of [11, 13, 14]) expect(fleet.admitted.get(win)).toBeLessThanOrEqual(LIMIT)
  })
})

describe('the time when a window ends', () => {
  it('is known again in the next window where the first call of one was slow', async () => {
    const fleet = new Fleet()
    const store = fleet.line(600)
    const escrow = fleet.escrow({ store, storeTimeoutMs: 900 })
    const endMs = (): number => escrow.peek('a', 1).resetAtMs
    fleet.load(escrow, 'a', 1, 2, 12_000)
    fleet.at(12_300, () => {
      store.thereMs = 0.5
    })
    await fleet.run(12_700)
    expect(endMs()).toBe(12_400)
    for (const win of [13, 14, 15]) {
      await fleet.run(win * 1_000 + 500)
      expect(escrow.snapshot().win).toBe(win)
      expect((win + 1) * 1_000 - endMs()).toBeCloseTo(0.5)
    }
  })

  it.each([1 - 1 / 2_000, 1 + 1 / 2_000])(
    'does not drift where the clock of a process runs %d times as fast',
    async (rate) => {
      const fleet = new Fleet()
      const escrow = fleet.escrow({ clock: () => fleet.world.clock() * rate })
      fleet.load(escrow, 'a', 1, 9, 10_000)
      await fleet.run(40_500)
      expect(escrow.snapshot().win).toBe(40)
      expect(Math.abs(escrow.peek('a', 1).resetAtMs / rate - 41_000)).toBeLessThan(2)
    },
  )
})

describe('processes that end', () => {
  it('hand back what they drew for the next window', async () => {
    const fleet = new Fleet()
    for (let i = 0; i < 10; i++) {
      const endMs = 13_900 + 5 * i
      const old = fleet.escrow({ store: fleet.line(10) })
      fleet.load(old, `t${i}`, 1, 6, 10_000 + i, endMs)
      fleet.at(endMs, () => void old.close())
      fleet.load(fleet.escrow({ store: fleet.line(10) }), `t${i}`, 1, 6, endMs + 20)
    }
    await fleet.run(16_000)
    expect(fleet.admitted.get(14)).toBeGreaterThan(0.95 * LIMIT)
    for (const sum of fleet.admitted.values()) expect(sum).toBeLessThanOrEqual(LIMIT)
  })

  type Ending = 'close' | 'die' | 'go on without requests'

  /** What tenants of one process get in each window but the first, and as many whose processes are replaced. */
  async function replace(times: number, how: Ending, tenants: number, windows: number) {
    const fleet = new Fleet()
    const got = Array.from({ length: windows }, () => ({ stays: 0, replaced: 0 }))
    const load = (escrow: LeasedFairEscrow, side: 'stays' | 'replaced', fromMs: number, toMs?: number): void => {
      const counted = {
        check: async (tenant: string, cost: number) => {
          const decision = await escrow.check(tenant, cost)
          const window = got[Math.floor(fleet.world.clock() / WINDOW_MS) - 10]
          if (decision.allowed && window !== undefined) window[side] += cost
          return decision
        },
      } as LeasedFairEscrow
      const everyMs = 0.8 * tenants
      for (let i = 0; i < tenants; i++)
        fleet.load(counted, `${side}${i}`, 1, everyMs, fromMs + (i * everyMs) / tenants, toMs)
    }
    load(fleet.escrow(), 'stays', 10_000)
    const untilMs = 10_000 + windows * WINDOW_MS
    for (let fromMs = 10_000; fromMs < untilMs; fromMs += WINDOW_MS / times) {
      const endMs = fromMs + WINDOW_MS / times
      const store = fleet.line()
      const escrow = fleet.escrow({ store })
      load(escrow, 'replaced', fromMs, endMs)
      if (how === 'close') fleet.at(endMs, () => void escrow.close())
      else if (how === 'die')
        fleet.at(endMs, () => {
          store.isCut = true
        })
    }
    await fleet.run(untilMs)
    for (const sum of fleet.admitted.values()) expect(sum).toBeLessThanOrEqual(LIMIT)
    return got.slice(1)
  }

  const endings: [number, Ending][] = [
    [3, 'close'],
    [9, 'die'],
    [3, 'go on without requests'],
  ]
  const more: typeof endings = [
    [9, 'close'],
    [3, 'die'],
    [9, 'go on without requests'],
  ]

  it.each(byWidth(endings, [...endings, ...more]))(
    'gain nothing by it: replaced %d times in each window, where they %s',
    async (times, how) => {
      for (const { stays, replaced } of await replace(times, how, 5, 5)) {
        const most = how === 'close' ? 0.01 : 0.04
        expect(replaced).toBeLessThanOrEqual((1 / 2 + most) * LIMIT)
        expect(stays).toBeGreaterThanOrEqual((1 / 2 - most) * LIMIT)
      }
    },
  )

  it.each(byWidth<Ending[]>([], ['close', 'die', 'go on without requests']))(
    'gain hardly anything over ten windows, and less than an eighth in one, where shares are half a quantum and they %s',
    async (how) => {
      const windows = await replace(1, how, 100, 11)
      const sum = (of: 'stays' | 'replaced'): number => windows.reduce((total, window) => total + window[of], 0)
      expect(sum('replaced') / (sum('stays') + sum('replaced'))).toBeLessThan(0.52)
      for (const { replaced } of windows) expect(replaced).toBeLessThan((1 / 2 + 1 / 8) * LIMIT)
    },
  )

  it.each(['has just failed', 'is about to fail'])('hand back credit also where a call %s', async (when) => {
    const fleet = new Fleet()
    const store = fleet.line()
    const escrow = fleet.escrow({ quantum: 500, store })
    fleet.at(10_050, () => void fleet.ask(escrow, 'a', 10))
    fleet.at(10_060, () => {
      store.isCut = true
      void fleet.ask(escrow, 'b', 600)
      store.isCut = false
    })
    fleet.at(when === 'has just failed' ? 10_062 : 10_060.7, () => void escrow.close())
    await fleet.run(10_070)
    expect(escrow.snapshot()).toMatchObject({ granted: 10, used: 10 })
  })

  it('hand back credit also where a call is on its way', async () => {
    const fleet = new Fleet()
    const escrow = fleet.escrow()
    const decision = escrow.check('a', 1)
    await fleet.run(10_005)
    expect(await decision).toMatchObject({ allowed: true })
    expect(escrow.snapshot()).toMatchObject({ granted: 10, used: 1 })
    const late = escrow.check('a', 15)
    const closed = escrow.close()
    await fleet.run(10_020)
    await closed
    expect(await late).toMatchObject({ allowed: true })
    expect(escrow.snapshot()).toMatchObject({ granted: 16, used: 16 })
  })
})

describe('a call that is bad', () => {
  it('is not sent again', () => {
    const { clock, after } = new World()
    const store = new MemoryPoolStore({ clock })
    const lease = (call: LeaseCall): LeaseAnswer => {
      if (call.tenants.some(({ tenant }) => tenant === 'bad')) throw new RangeError('a name is too long')
      return store.lease(call)
    }
    const options = { pool: 'p', limit: LIMIT, windowMs: WINDOW_MS, store: { lease } }
    const escrow = new LeasedFairEscrow({ ...options, clock, after })
    expect(escrow.check('bad', 10)).toMatchObject({ allowed: false, reason: 'store-error' })
    const answers = [1, 2, 3].map(() => {
      clock.advance(100)
      return (escrow.check('good', 10) as LeasedDecision).allowed
    })
    expect(answers.at(-1)).toBe(true)
  })

  it('is not made of names without end that were refused', async () => {
    const fleet = new Fleet()
    const failures: string[] = []
    const escrow = fleet.escrow({
      quantum: 100,
      maxTenants: 20,
      onStoreFailure: ({ message }) => failures.push(message),
    })
    fleet.at(12_010, () => void fleet.ask(escrow, 'good', 1))
    fleet.at(12_020, () => {
      for (let i = 0; i < 20; i++) void fleet.ask(escrow, `evil${i}`, LIMIT - 0.5)
    })
    fleet.at(12_400, () => void fleet.ask(escrow, 'fresh', 300))
    fleet.load(escrow, 'good', 5, 5, 12_410)
    await fleet.run(12_990)
    expect(failures).toEqual([])
    expect(fleet.admitted.get(12)).toBeGreaterThan(600)
  })
})

describe('a watch for sleep', () => {
  it('rings where a wall clock goes forward by a tenth of a second more, also after that was put back', () => {
    let [runMs, wallMs] = [50, 1e12]
    const mayHaveSlept = sleepWatch(
      () => runMs,
      () => wallMs,
    )
    const pass = (ranMs: number, shownMs: number): boolean => {
      runMs += ranMs
      wallMs += shownMs
      return mayHaveSlept(runMs)
    }
    expect(pass(10, 10)).toBe(false)
    expect(pass(10, 3_010)).toBe(true)
    expect(pass(10, 109)).toBe(false)
    expect(pass(10, -5_000)).toBe(false)
    expect(pass(2_000, 2_000)).toBe(false)
    expect(pass(10, 120)).toBe(true)
  })
})
