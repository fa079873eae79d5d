import { describe, expect, it } from 'vitest'
import { settled } from '../testing/world.js'
import { EPOCH_S, Office, watch } from './fixtures/office.js'
import { DoormanClient, type DoormanClientOptions, inProcess } from './index.js'

const never = (): Promise<never> => new Promise(() => {})

describe('a Doorman client', () => {
  it('starts nothing before the first lease is asked for, and has no timer after the last', async () => {
    const office = new Office((request) => office.grant(request, 10))
    await office.advance(60_000)
    expect([office.asked.length, office.world.timers]).toEqual([0, 0])
    const rate = office.client.rate('a')
    await office.advance(0)
    expect(office.asked.length).toBe(1)
    expect(office.world.timers).toBe(1)
    rate.close()
    await office.advance(0)
    expect(office.released).toMatchObject([{ clientId: 'host:1:1', resourceId: ['a'] }])
    expect(office.world.timers).toBe(0)
  })

  it('asks for everything in one question, and says what it keeps to', async () => {
    const office = new Office((request) => office.grant(request, ({ wants }) => wants / 2))
    office.client.rate('a', { wants: 10, priority: 3, weight: 2 })
    office.client.gauge('b', { wants: 4 })
    await office.advance(0)
    expect(office.last).toMatchObject({ atMs: 0, address: undefined, clientId: 'host:1:1' })
    expect(office.last.resource).toEqual([
      { resourceId: 'a', priority: 3, weight: 2, wants: 10 },
      { resourceId: 'b', priority: 0, wants: 4 },
    ])
    await office.advance(18_000)
    expect(office.asked.length).toBe(2)
    const expiryTime = EPOCH_S + 60
    expect(office.last.resource).toEqual([
      { resourceId: 'a', priority: 3, weight: 2, wants: 10, has: { expiryTime, refreshInterval: 16, capacity: 5 } },
      { resourceId: 'b', priority: 0, wants: 4, has: { expiryTime, refreshInterval: 16, capacity: 2 } },
    ])
  })

  it('asks again after the shortest interval, a little later each time, so that clients do not come together', async () => {
    const office = new Office((request) => {
      const answer = office.grant(request, 1)
      answer.response[0]!.gets.refreshInterval = 8
      return answer
    })
    for (const id of ['a', 'b']) office.client.rate(id, { wants: 1 })
    await office.advance(200_000)
    const gaps = office.times.slice(1).map((atMs, i) => atMs - office.times[i]!)
    expect(gaps.length).toBeGreaterThan(20)
    for (const gap of gaps) {
      expect(gap).toBeGreaterThanOrEqual(8_000)
      expect(gap).toBeLessThanOrEqual(8_800)
    }
    expect(new Set(gaps).size).toBeGreaterThan(15)
  })

  it.each([
    [0, 1_000, 1_100],
    [1, 1_000, 1_100],
    [2, 2_000, 2_200],
    [-7, 1_000, 1_100],
  ])('takes an interval of %d s for one of %d ms or more', async (refreshS, least, most) => {
    const office = new Office((request) => office.grant(request, 1, { refreshS }))
    office.client.rate('a', { wants: 1 })
    await office.advance(2_500)
    const gap = office.times[1]! - office.times[0]!
    expect(gap).toBeGreaterThanOrEqual(least)
    expect(gap).toBeLessThanOrEqual(most)
  })

  it('asks no more often than it may', async () => {
    const office = new Office((request) => office.grant(request, 1, { refreshS: 1 }), { minimumRefreshMs: 5_000 })
    office.client.rate('a', { wants: 1 })
    await office.advance(5_600)
    expect(office.times[1]).toBeGreaterThanOrEqual(5_000)
    expect(office.times.length).toBe(2)
  })

  it('asks before a lease ends that is shorter than the interval', async () => {
    const office = new Office((request) => office.grant(request, 1, { lengthS: 10, refreshS: 16 }))
    const rate = office.client.rate('a', { wants: 1 })
    for (let i = 0; i < 100; i++) {
      await office.advance(1_000)
      expect(rate.capacity).toBe(1)
    }
    expect(office.times.length).toBe(12)
  })

  it('takes what comes late, until a lease of it has ended', async () => {
    let answer = (): void => {}
    const office = new Office(
      (request) => {
        const granted = office.grant(request, 7, { lengthS: 10 })
        return new Promise((resolve) => {
          answer = () => resolve(granted)
        })
      },
      { deadlineMs: 60_000, mode: 'pessimistic' },
    )
    const rate = office.client.rate('a', { wants: 7 })
    await office.advance(9_000)
    answer()
    await office.advance(0)
    expect(rate.capacity).toBe(7)
    await office.advance(999)
    expect(rate.capacity).toBe(7)
    await office.advance(1)
    expect(rate.capacity).toBe(0)
    await office.advance(11_000)
    answer()
    await office.advance(0)
    expect(rate.capacity).toBe(0)
  })

  it('abandons an answer after the deadline, and ignores it when it arrives later', async () => {
    const answers: (() => void)[] = []
    const office = new Office(
      (request) => {
        const granted = office.grant(request, 100 + answers.length)
        return new Promise((resolve) => answers.push(() => resolve(granted)))
      },
      { deadlineMs: 3_000 },
    )
    const rate = office.client.rate('a', { wants: 7 })
    await office.advance(3_000)
    expect(office.client.snapshot()).toMatchObject({ failures: 1, lastError: expect.stringContaining('3000 ms') })
    await office.advance(2_000)
    expect(answers.length).toBe(2)
    answers[0]!()
    await office.advance(0)
    expect(rate.capacity).toBe(0)
    answers[1]!()
    await office.advance(0)
    expect(rate.capacity).toBe(101)
    expect(office.client.snapshot()).toMatchObject({ failures: 0 })
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('down')
      },
    ],
    ['rejects', () => Promise.reject(new Error('down'))],
    ['never answers', never],
    ['answers nothing of use', () => null as never],
    ['does not know the master', () => ({ response: [], mastership: {} })],
    ['sends it round in circles', () => ({ response: [], mastership: { masterAddress: 'other:1' } })],
  ] as const)('backs off from 1 s to 60 s from a server that %s', async (_, answer) => {
    const office = new Office(answer, { deadlineMs: 500 })
    office.client.rate('a', { wants: 1 })
    await office.advance(600_000)
    const starts = office.asked.filter(({ address }) => address === undefined).map(({ atMs }) => atMs)
    const gaps = starts.slice(1).map((atMs, i) => atMs - starts[i]!)
    const hungMs = answer === never ? 500 : 0
    for (const [i, gap] of gaps.entries()) {
      const dueMs = Math.min(60_000, 1_000 * 2 ** i)
      expect(gap - hungMs).toBeGreaterThanOrEqual(dueMs)
      expect(gap - hungMs).toBeLessThanOrEqual(Math.min(60_000, dueMs * 1.25))
    }
    expect(gaps.length).toBeGreaterThan(10)
    office.answer = (request) => office.grant(request, 5)
    await office.advance(61_000)
    expect(office.client.rate('a').capacity).toBe(5)
    expect(office.client.snapshot()).toMatchObject({ failures: 0 })
  })

  it('goes to the master at once, stays there, and starts over when it is gone', async () => {
    let master = 'b:1'
    let down = false
    const office = new Office((request) => {
      if (down) throw new Error('gone')
      if (request.address !== master) return { response: [], mastership: { masterAddress: master } }
      return office.grant(request, 3)
    })
    const rate = office.client.rate('a', { wants: 3 })
    await office.advance(40_000)
    expect(office.asked.map(({ address }) => address)).toEqual([undefined, 'b:1', 'b:1', 'b:1'])
    expect(office.times.slice(0, 2)).toEqual([0, 0])
    expect(office.client.snapshot().master).toBe('b:1')
    master = 'c:1'
    await office.advance(16_000)
    expect(office.asked.slice(4).map(({ address }) => address)).toEqual(['b:1', 'c:1'])
    expect(rate.capacity).toBe(3)
    down = true
    await office.advance(18_000)
    expect(office.client.snapshot().master).toBeUndefined()
    down = false
    await office.advance(4_000)
    expect(office.asked.at(-2)!.address).toBeUndefined()
    expect(office.last.address).toBe('c:1')
    expect(rate.capacity).toBe(3)
  })

  it('brings a master what it has at that moment, and not what has run out on the way', async () => {
    const office = new Office((request) => office.grant(request, 3, { lengthS: 20 }), { deadlineMs: 60_000 })
    office.client.rate('a', { wants: 3 })
    await office.advance(15_000)
    office.answer = (request) => {
      if (request.address !== undefined) return office.grant(request, 3)
      office.world.stall(10_000)
      return { response: [], mastership: { masterAddress: 'b:1' } }
    }
    await office.advance(30_000)
    expect(office.asked.slice(1, 3).map(({ resource }) => resource[0]!.has?.capacity)).toEqual([3, undefined])
  })

  it('asks at once for a new resource, but not in the middle of a back-off', async () => {
    const office = new Office((request) => office.grant(request, 1))
    office.client.rate('a', { wants: 1 })
    await office.advance(2_000)
    office.client.rate('b', { wants: 1 })
    await office.advance(0)
    expect(office.times).toEqual([0, 2_000])
    expect(office.last.resource.length).toBe(2)
    office.answer = () => Promise.reject(new Error('down'))
    await office.advance(30_000)
    const count = office.asked.length
    const fresh = office.client.rate('c', { wants: 9, mode: 'optimistic' })
    await office.advance(0)
    expect(office.asked.length).toBe(count)
    // The failed request counts as an answer, so the mode decides: the last wants of a client that never asked are 0.
    expect(fresh.snapshot().by).toBe('mode')
  })

  describe('when the lease has ended and no server answers', () => {
    it.each([
      ['pessimistic', 0],
      ['optimistic', 20],
      ['safe', 4],
    ] as const)('%s keeps to %d, and returns with the first answer', async (mode, capacity) => {
      const office = new Office((request) => office.grant(request, 10, { safe: 4 }), { mode })
      const rate = office.client.rate('a', { wants: 20 })
      await office.advance(0)
      office.answer = never
      await office.advance(59_999)
      expect(rate.capacity).toBe(10)
      expect(rate.snapshot().by).toBe('lease')
      await office.advance(1)
      expect(rate.capacity).toBe(capacity)
      expect(rate.snapshot()).toMatchObject({ by: 'mode', leaseEndsInMs: undefined, safeCapacity: 4 })
      await office.advance(30_000)
      expect(office.last.resource[0]!.has).toBeUndefined()
      office.answer = (request) => office.grant(request, 12)
      await office.advance(70_000)
      expect(rate.capacity).toBe(12)
    })

    it('has a mode for each resource, and no limit where the safe capacity is none', async () => {
      const office = new Office((request) => office.grant(request, 10, { safe: -1 }))
      const safe = office.client.rate('a', { wants: 20 })
      const none = office.client.rate('b', { wants: 20, mode: 'pessimistic' })
      await office.advance(0)
      office.answer = never
      await office.advance(60_000)
      expect([safe.capacity, none.capacity]).toEqual([-1, 0])
      expect(safe.tryTake(1e6)).toBe(true)
      expect(none.tryTake()).toBe(false)
    })

    it('knows nothing before the first answer, and the mode before the first failure', async () => {
      const office = new Office(never, { deadlineMs: 2_000, mode: 'optimistic' })
      const rate = office.client.rate('a', { wants: 20 })
      await office.advance(1_999)
      expect(rate.snapshot()).toMatchObject({ by: 'asking', capacity: 0 })
      await office.advance(1)
      expect(rate.snapshot()).toMatchObject({ by: 'mode', capacity: 20 })
    })

    it('takes an answer without time for none, but its safe capacity', async () => {
      const office = new Office((request) => office.grant(request, 10, { safe: 4 }))
      const rate = office.client.rate('a', { wants: 20 })
      await office.advance(0)
      office.answer = (request) => office.grant(request, 0, { lengthS: 0, safe: 6 })
      await office.advance(30_000)
      expect(office.asked.length).toBeGreaterThan(1)
      expect(rate.capacity).toBe(10)
      await office.advance(30_000)
      expect(rate.capacity).toBe(6)
      const before = office.asked.length
      await office.advance(160_000)
      expect(office.asked.length - before).toBeLessThanOrEqual(10)
      office.answer = (request) => office.grant(request, 11)
      await office.advance(18_000)
      expect(rate.capacity).toBe(11)
    })

    it('lets a resource run out that the answers leave out', async () => {
      const office = new Office((request) => office.grant(request, 10, { safe: 4 }))
      const rate = office.client.rate('a', { wants: 20 })
      office.client.rate('b', { wants: 20 })
      await office.advance(0)
      office.answer = (request) => {
        const { response } = office.grant(request, 10)
        return { response: response.filter(({ resourceId }) => resourceId === 'b') }
      }
      await office.advance(59_999)
      expect(rate.capacity).toBe(10)
      await office.advance(1)
      expect(rate.capacity).toBe(4)
      const before = office.asked.length
      await office.advance(100_000)
      expect(office.asked.length - before).toBeLessThanOrEqual(20)
    })

    it.each([Number.NaN, Number.POSITIVE_INFINITY])('takes a capacity of %d for no answer', async (capacity) => {
      const office = new Office((request) => office.grant(request, capacity, { safe: 3 }))
      const rate = office.client.rate('a', { wants: 20 })
      await office.advance(0)
      expect(rate.capacity).toBe(3)
    })
  })

  describe('with clocks that jump', () => {
    const leased = async (options: Partial<DoormanClientOptions> = {}) => {
      const office = new Office((request) => office.grant(request, 10), { mode: 'pessimistic', ...options })
      const rate = office.client.rate('a', { wants: 10 })
      await office.advance(0)
      office.answer = never
      return { office, rate }
    }

    it('makes no lease longer when the wall clock is set back', async () => {
      const { office, rate } = await leased()
      office.wallOffMs = -3_600_000
      await office.advance(59_999)
      expect(rate.capacity).toBe(10)
      await office.advance(1)
      expect(rate.capacity).toBe(0)
    })

    it('ends a lease with the wall clock, which goes on while the machine sleeps', async () => {
      const { office, rate } = await leased()
      const changes: number[] = []
      rate.onChange((capacity) => changes.push(capacity))
      office.wallOffMs = 60_000
      expect(rate.tryTake()).toBe(false)
      expect(changes).toEqual([])
      await settled()
      expect(changes).toEqual([0])
    })

    it('counts from the question if the wall clock is set back before the answer', async () => {
      const office = new Office(
        async (request) => {
          const granted = office.grant(request, 10, { lengthS: 60 })
          office.wallOffMs = -3_600_000
          return granted
        },
        { mode: 'pessimistic' },
      )
      const rate = office.client.rate('a', { wants: 10 })
      await office.advance(0)
      office.answer = never
      await office.advance(59_999)
      expect(rate.capacity).toBe(10)
      await office.advance(1)
      expect(rate.capacity).toBe(0)
    })

    it('goes on when the steady clock is set back', async () => {
      const { office, rate } = await leased()
      await office.advance(10_000)
      expect(rate.capacity).toBe(10)
      office.world.stall(-9_000)
      office.wallOffMs = 9_000
      expect(rate.capacity).toBe(10)
      office.wallOffMs = 0
      await office.advance(49_999)
      expect(rate.capacity).toBe(10)
      await office.advance(1)
      expect(rate.capacity).toBe(0)
    })

    it('ends a lease on time when its timers are late', async () => {
      const { office, rate } = await leased()
      office.world.stall(60_000)
      expect(rate.tryTake()).toBe(false)
    })
  })

  describe('asking early', () => {
    const wanting = async (wants: number, refreshS = 16) => {
      const office = new Office((request) => office.grant(request, ({ wants }) => wants, { refreshS }))
      const rate = office.client.rate('a', { wants })
      await office.advance(0)
      return { office, rate }
    }

    it('does so when wants have moved by more than a fifth, up or down', async () => {
      for (const wants of [121, 79]) {
        const { office, rate } = await wanting(100)
        await office.advance(7_000)
        rate.setWants(wants)
        await office.advance(0)
        expect(office.times).toEqual([0, 7_000])
        expect(rate.capacity).toBe(wants)
      }
    })

    it('leaves smaller changes for the next refresh', async () => {
      for (const wants of [119, 81]) {
        const { office, rate } = await wanting(100)
        await office.advance(7_000)
        rate.setWants(wants)
        await office.advance(8_999)
        expect(office.times).toEqual([0])
        await office.advance(3_000)
        expect(rate.capacity).toBe(wants)
      }
    })

    it('not more often than twice a second', async () => {
      const { office, rate } = await wanting(100, 16)
      await office.advance(100)
      rate.setWants(200)
      rate.setWants(300)
      await office.advance(399)
      expect(office.times).toEqual([0])
      await office.advance(1)
      expect(office.times).toEqual([0, 500])
      expect(rate.capacity).toBe(300)
    })

    it('less and less often of a server that leaves out what comes within its minimum interval', async () => {
      const { office, rate } = await wanting(100, 16)
      const { answer } = office
      let answeredMs = 0
      office.answer = (request) => {
        if (request.atMs - answeredMs < 5_000) return { response: [] }
        answeredMs = request.atMs
        return answer(request)
      }
      await office.advance(400)
      rate.setWants(300)
      await office.advance(8_000)
      expect(office.times.filter((atMs) => atMs < 8_000)).toEqual([0, 500, 1_500, 3_500, 7_500])
      expect(rate.capacity).toBe(300)
    })

    it('counts the minimum interval from the answer, because the server does from its decision', async () => {
      const { office, rate } = await wanting(100)
      office.answer = async (request) => {
        const granted = office.grant(request, 1)
        await new Promise<void>((resolve) => office.world.after(2_000, resolve))
        return granted
      }
      await office.advance(18_000)
      const askedMs = office.times[1]!
      rate.setWants(200)
      await office.advance(askedMs + 2_000 + 499 - office.world.clock())
      expect(office.times.length).toBe(2)
      await office.advance(1)
      expect(office.times[2]).toBe(askedMs + 2_500)
    })

    it('does so after the answer, if they moved in the meantime', async () => {
      const office = new Office((request) => office.grant(request, ({ wants }) => wants))
      const rate = office.client.rate('a', { wants: 1 })
      await office.advance(0)
      let answer = (): void => {}
      office.answer = (request) => {
        const granted = office.grant(request, ({ wants }) => wants)
        return new Promise((resolve) => {
          answer = () => resolve(granted)
        })
      }
      await office.advance(18_000)
      rate.setWants(50)
      answer()
      await office.advance(0)
      expect(rate.capacity).toBe(1)
      await office.advance(5_000)
      answer()
      await office.advance(0)
      expect(rate.capacity).toBe(50)
    })
  })

  describe('resources that are shared', () => {
    it('are one for all who ask, and released with the last', async () => {
      const office = new Office((request) => office.grant(request, 10))
      const first = office.client.rate('a', { wants: 10 })
      const second = office.client.rate('a')
      expect(second).toBe(first)
      await office.advance(0)
      expect(office.last.resource.length).toBe(1)
      first.close()
      await office.advance(1_000)
      expect([office.released.length, second.tryTake()]).toEqual([0, true])
      second.close()
      second.close()
      await office.advance(1_000)
      expect(office.released.length).toBe(1)
      expect([second.closed, second.tryTake()]).toEqual([true, false])
      expect(office.client.snapshot().resources).toEqual([])
    })

    it('begin anew after the release, once that has been heard', async () => {
      const office = new Office((request) => office.grant(request, 10))
      let heard = (): void => {}
      office.releaseAnswer = () => {
        return new Promise((resolve) => {
          heard = () => resolve({})
        })
      }
      const first = office.client.rate('a', { wants: 10 })
      await office.advance(0)
      first.close()
      await office.advance(0)
      const second = office.client.rate('a', { wants: 7 })
      await office.advance(1_000)
      expect([office.released.length, office.asked.length, second.capacity]).toEqual([1, 1, 0])
      heard()
      await office.advance(0)
      expect(office.last.resource).toEqual([{ resourceId: 'a', priority: 0, wants: 7 }])
      expect([second.capacity, first.tryTake(), second.tryTake()]).toEqual([10, false, true])
    })

    it('are released before the next user asks: a server does not answer a known client that soon', async () => {
      const office = new Office((request) => office.grant(request, 10))
      const first = office.client.rate('a', { wants: 10 })
      await office.advance(0)
      first.close()
      const order: string[] = []
      office.releaseAnswer = () => {
        order.push(`released after ${office.asked.length}`)
        return {}
      }
      office.client.rate('a', { wants: 7 })
      await office.advance(0)
      expect([order, office.asked.length]).toEqual([['released after 1'], 2])
    })

    it('are told by their number from a release before them that is still under way', async () => {
      const office = new Office((request) => office.grant(request, 10))
      office.releaseAnswer = never
      for (let i = 0; i < 3; i++) {
        const rate = office.client.rate('a', { wants: 10 })
        await office.advance(6_000)
        rate.close()
        await office.advance(0)
      }
      expect(office.asked.map(({ releases }) => releases)).toEqual([0, 1, 2])
      expect(office.released.map(({ releases }) => releases)).toEqual([0, 1, 2])
      const before = office.asked.map(({ instance }) => instance)
      expect(new Set(before).size).toBe(1)
    })

    it('also where a request asks in the middle of the release', async () => {
      const office = new Office((request) => office.grant(request, 10))
      office.releaseAnswer = never
      const first = office.client.rate('a', { wants: 10 })
      await office.advance(0)
      first.close()
      await office.advance(0)
      office.client.rate('a', { wants: 7 })
      void office.client.refresh()
      await office.advance(0)
      expect([office.released.at(-1)?.releases, office.last.releases]).toEqual([0, 1])
    })

    it('are released before a request that takes them anew asks: a release after the question takes back what it got', async () => {
      const office = new Office((request) => office.grant(request, 10))
      const first = office.client.rate('a', { wants: 10 })
      await office.client.refresh()
      first.close()
      const order: string[] = []
      let heard = (): void => {}
      office.releaseAnswer = () => {
        order.push(`released after ${office.asked.length}`)
        return new Promise((resolve) => {
          heard = () => resolve({})
        })
      }
      office.client.rate('a', { wants: 7 })
      const refreshed = watch(office.client.refresh())
      await office.advance(0)
      expect([order, office.asked.length, refreshed.done]).toEqual([['released after 1'], 1, false])
      heard()
      await office.advance(0)
      expect([order.length, office.asked.length, refreshed.done]).toEqual([1, 2, true])
    })

    it('must agree on their options, and their kind', () => {
      const { client } = new Office(never)
      client.rate('a', { wants: 10 })
      expect(() => client.rate('a', { wants: 11 })).toThrow(
        'wants of "a" must be the same for all its users, 10, got 11',
      )
      expect(() => client.gauge('a')).toThrow('"a" is a rate, not a gauge')
      client.gauge('b')
      expect(() => client.rate('b')).toThrow('"b" is a gauge, not a rate')
    })
  })

  describe('that closes', () => {
    it('rejects waiting callers, gives everything back, and stops asking', async () => {
      const office = new Office((request) => office.grant(request, 0))
      const rate = office.client.rate('a', { wants: 1 })
      const gauge = office.client.gauge('b', { wants: 1 })
      const waiting = [watch(rate.wait()), watch(gauge.take())]
      await office.advance(0)
      const closed = watch(office.client.close())
      await office.advance(0)
      expect(waiting).toMatchObject([{ error: { resourceId: 'a' } }, { error: { resourceId: 'b' } }])
      expect(office.released).toMatchObject([{ resourceId: ['a', 'b'] }])
      expect(closed.done).toBe(true)
      await office.advance(100_000)
      expect([office.asked.length, office.world.timers]).toEqual([1, 0])
      expect(() => office.client.rate('c')).toThrow('is closed')
      expect(watch(office.client.close())).toBeDefined()
      await office.advance(0)
      expect(office.released.length).toBe(1)
    })

    it('in the middle of an ask, releases after it, so that nothing is left with the server', async () => {
      let answer = (): void => {}
      const office = new Office((request) => {
        const granted = office.grant(request, 10)
        return new Promise((resolve) => (answer = () => resolve(granted)))
      })
      const rate = office.client.rate('a', { wants: 1 })
      await office.advance(0)
      const closed = watch(office.client.close())
      await office.advance(1_000)
      expect([office.released.length, closed.done]).toEqual([0, false])
      answer()
      await office.advance(0)
      expect([office.released.length, closed.done, rate.tryTake()]).toEqual([1, true, false])
    })

    it.each(['fails', 'hangs'])('is closed in time when the release %s', async (how) => {
      const office = new Office((request) => office.grant(request, 10), { deadlineMs: 2_000 })
      office.client.rate('a', { wants: 1 })
      await office.advance(0)
      office.releaseAnswer = how === 'fails' ? () => Promise.reject(new Error('down')) : never
      const closed = watch(office.client.close())
      await office.advance(2_000)
      expect(closed).toEqual({ done: true, value: undefined })
      expect(office.world.timers).toBe(0)
    })

    it('before it ever asked, has nothing to release', async () => {
      const office = new Office(never)
      office.client.rate('a')
      await office.client.close()
      expect([office.asked.length, office.released.length]).toEqual([0, 0])
    })

    it('may be closed by a listener', async () => {
      const office = new Office((request) => office.grant(request, 10))
      const rate = office.client.rate('a', { wants: 1 })
      rate.onChange(() => void office.client.close())
      rate.onChange(() => {
        throw new Error('broken')
      })
      await office.advance(1_000)
      expect([office.released.length, office.world.timers]).toEqual([1, 0])
    })
  })

  it.each([1_000, 100_000])(
    'reports the end of an unused lease, with %d ms to wait for answers',
    async (deadlineMs) => {
      const office = new Office((request) => office.grant(request, 10), { mode: 'pessimistic', deadlineMs })
      const heard: [number, number][] = []
      office.client.rate('a', { wants: 1 }).onChange((capacity) => heard.push([office.world.clock(), capacity]))
      await office.advance(0)
      office.answer = never
      await office.advance(70_000)
      expect(heard).toEqual([
        [0, 10],
        [60_000, 0],
      ])
    },
  )

  it('lets the transport know that it waits no longer', async () => {
    const office = new Office(never, { deadlineMs: 3_000 })
    office.client.rate('a')
    await office.advance(2_999)
    expect(office.last.signal?.aborted).toBe(false)
    await office.advance(1)
    expect(office.last.signal?.reason).toMatchObject({ name: 'CapacityError', code: 'deadline_exceeded' })
  })

  it('tells each change once, and only to those who listen', async () => {
    const capacities = [5, 5, 7, -1, 0]
    const office = new Office((request) => office.grant(request, capacities.shift() ?? 0, { safe: 2 }))
    const rate = office.client.rate('a', { wants: 1 })
    const heard: number[] = []
    const stop = rate.onChange((capacity) => heard.push(capacity))
    rate.onChange(() => {
      throw new Error('broken')
    })
    // An unhandled rejection would end the process.
    rate.onChange(async () => {
      throw new Error('broken later')
    })
    await office.advance(100_000)
    expect(heard).toEqual([5, 7, -1, 0])
    expect(rate.snapshot().listenerErrors).toBe(8)
    stop()
    office.answer = (request) => office.grant(request, 9)
    await office.advance(20_000)
    expect([rate.capacity, heard.length]).toEqual([9, 4])
  })

  it('shows itself as plain JSON', async () => {
    const office = new Office((request) => office.grant(request, -1, { safe: 2 }))
    office.client.rate('a', { wants: 3 }).tryTake()
    office.client.gauge('b', { wants: 3 })
    await office.advance(0)
    const snapshot = office.client.snapshot()
    expect(JSON.parse(JSON.stringify(snapshot))).toMatchObject({
      id: 'host:1:1',
      closed: false,
      failures: 0,
      resources: [
        { kind: 'rate', id: 'a', capacity: -1, by: 'lease', leaseEndsInMs: 60_000, wants: 3, safeCapacity: 2 },
        { kind: 'gauge', id: 'b', inFlight: 0, waiting: 0 },
      ],
    })
  })

  it('makes an id of its own', () => {
    const transport = inProcess(() => {
      throw new Error('nobody')
    })
    const ids = [new DoormanClient({ transport }).id, new DoormanClient({ transport }).id]
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
  })

  it.each([
    [{ transport: 7 }, 'transport must be a transport, got 7'],
    [{ transport: {} }, 'transport.connect must be a function'],
    [{ id: '' }, 'id must be a non-empty string, got ""'],
    [{ mode: 'brave' }, 'mode must be one of "pessimistic", "optimistic", "safe", got "brave"'],
    [{ minimumRefreshMs: -1 }, 'minimumRefreshMs must be a number >= 0, got -1'],
    [{ deadlineMs: 0 }, 'deadlineMs must be a number > 0, got 0'],
    [{ clock: 1 }, 'clock must be a function, got 1'],
    [{ wallClock: 1 }, 'wallClock must be a function, got 1'],
    [{ random: 1 }, 'random must be a function, got 1'],
    [{ after: 1 }, 'after must be a function, got 1'],
    [{ refresh: 1 }, 'doorman has no option "refresh"'],
  ])('refuses %o', (options, message) => {
    const wrong: object = { transport: { connect: never }, ...options }
    expect(() => new DoormanClient(wrong as DoormanClientOptions)).toThrow(message)
  })

  it.each([
    [{ wants: -1 }, 'wants must be a number >= 0, got -1'],
    [{ wants: Number.NaN }, 'wants must be a number >= 0, got NaN'],
    [{ minWants: -1 }, 'minWants must be a number >= 0, got -1'],
    [{ priority: 0.5 }, 'priority must be an integer'],
    [{ weight: 0 }, 'weight must be a number > 0, got 0'],
    [{ mode: '' }, 'mode must be one of'],
    [{ smooth: 1 }, 'smooth must be true or false, got 1'],
    [{ want: 1 }, 'rate has no option "want"'],
  ])('refuses a rate with %o, and is none the worse for it', (options, message) => {
    const { client } = new Office(never)
    expect(() => client.rate('a', options as object)).toThrow(message)
    expect(() => client.rate('')).toThrow('id must be a non-empty string')
    expect(() => client.gauge('a', { smooth: true } as object)).toThrow('gauge has no option "smooth"')
    expect(client.snapshot().resources).toEqual([])
  })
})
