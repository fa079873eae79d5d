import { getEventListeners } from 'node:events'
import { byWidth } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Office, watch } from './fixtures/office.js'
import { LeaseClosedError, type RateLease, type RateOptions } from './index.js'

/** A rate that has been granted `capacity`, with leases of an hour. */
async function rateOf(
  capacity: number,
  options: RateOptions = { wants: 100 },
): Promise<{ office: Office; rate: RateLease }> {
  const office = new Office((request) => office.grant(request, capacity, { lengthS: 3_600, refreshS: 3_600 }))
  const rate = office.client.rate('r', options)
  await office.advance(0)
  return { office, rate }
}

describe('a leased rate', () => {
  it('is spent as it comes, and then waiting callers are served first come, first served', async () => {
    const { office, rate } = await rateOf(3)
    const order: number[] = []
    for (let i = 0; i < 8; i++) void rate.wait().then(() => order.push(i))
    await office.advance(0)
    expect(order).toEqual([0, 1, 2])
    expect([rate.waiting, rate.tryTake()]).toEqual([5, false])
    await office.advance(999)
    expect(order.length).toBe(3)
    await office.advance(1)
    expect(order).toEqual([0, 1, 2, 3, 4, 5])
    await office.advance(1_000)
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    // The timer of the refresh.
    expect(office.world.timers).toBe(1)
  })

  it.each([5, {}, null, () => {}, { aborted: false, throwIfAborted: () => {} }])(
    'lets no caller wait with an invalid signal: %j',
    async (signal) => {
      const { office, rate } = await rateOf(1)
      expect(() => rate.wait(signal as never)).toThrow('signal must be an AbortSignal')
      expect([rate.waiting, rate.tryTake()]).toEqual([0, true])
      expect(() => rate.wait(signal as never)).toThrow('signal must be an AbortSignal')
      await office.advance(1_000)
      expect(rate.tryTake()).toBe(true)
    },
  )

  it('lets no later caller pass, even with a small cost', async () => {
    const { office, rate } = await rateOf(3)
    const big = watch(rate.wait(undefined, 7))
    const small = watch(rate.wait())
    await office.advance(1_999)
    expect([big.done, small.done, rate.tryTake()]).toEqual([false, false, false])
    await office.advance(1)
    expect([big.done, small.done]).toEqual([true, true])
  })

  it('is spread over the second when it is to be smooth', async () => {
    const { office, rate } = await rateOf(100, { wants: 100, smooth: true })
    let served = 0
    for (let i = 0; i < 300; i++) void rate.wait().then(() => served++)
    for (let part = 1; part <= 100; part++) {
      await office.advance(0)
      expect(served).toBe(part * 2)
      await office.advance(20)
    }
  })

  it('serves waiting callers as soon as there is more', async () => {
    const { office, rate } = await rateOf(0)
    const waiting = watch(rate.wait())
    await office.advance(60_000)
    expect(waiting.done).toBe(false)
    office.answer = (request) => office.grant(request, 1)
    rate.setWants(300)
    await office.advance(0)
    expect(waiting).toEqual({ done: true, value: undefined })
  })

  it('lets everything pass while it is unlimited', async () => {
    const { rate } = await rateOf(-1)
    for (let i = 0; i < 10_000; i++) expect(rate.tryTake(1e9)).toBe(true)
    await rate.wait()
    expect([rate.capacity, rate.limit]).toEqual([-1, Number.MAX_SAFE_INTEGER])
  })

  it('leaves the line when its signal fires, and lets the next one come', async () => {
    const { office, rate } = await rateOf(2)
    const controller = new AbortController()
    const big = watch(rate.wait(controller.signal, 9))
    const small = watch(rate.wait())
    await office.advance(500)
    controller.abort(new Error('gone'))
    await office.advance(0)
    expect(big).toMatchObject({ error: { message: 'gone' } })
    expect(small.done).toBe(true)
    expect(rate.waiting).toBe(0)
    await expect(rate.wait(controller.signal)).rejects.toThrow('gone')
  })

  it('is not taken by a signal that fires when it has been served', async () => {
    const { office, rate } = await rateOf(1)
    const controller = new AbortController()
    rate.tryTake()
    const waiting = watch(rate.wait(controller.signal))
    await office.advance(1_000)
    controller.abort()
    await office.advance(0)
    expect(waiting).toEqual({ done: true, value: undefined })
    expect(rate.inFlight).toBe(1)
  })

  it('leaves nothing with a signal that lives longer', async () => {
    const { office, rate } = await rateOf(1)
    const { signal } = new AbortController()
    for (let i = 0; i < 3; i++) void rate.wait(signal).catch(() => {})
    expect(getEventListeners(signal, 'abort').length).toBe(2)
    await office.advance(1_000)
    expect(getEventListeners(signal, 'abort').length).toBe(1)
    rate.close()
    expect(getEventListeners(signal, 'abort').length).toBe(0)
  })

  it.each([10n, Symbol('s'), Object.create(null)])('tells a bad cost by name', async (cost) => {
    const { rate } = await rateOf(1)
    for (const call of [() => rate.tryTake(cost), () => rate.charge(cost), () => rate.refund(cost, 0)])
      expect(call).toThrow(/^cost must be a number/)
    expect(() => rate.charge(Number.NaN)).toThrow('cost must be a number >= 0, got NaN')
    expect(rate.tryTake()).toBe(true)
  })

  it('turns everybody away when it is closed', async () => {
    const { office, rate } = await rateOf(0)
    const waiting = [watch(rate.wait()), watch(rate.wait())]
    rate.close()
    await office.advance(0)
    for (const { error } of waiting) expect(error).toBeInstanceOf(LeaseClosedError)
    await expect(rate.wait()).rejects.toThrow('the lease of r is closed')
    expect(rate.tryTake()).toBe(false)
    expect(office.world.timers).toBe(0)
  })

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses a cost of %d', async (cost) => {
    const { rate } = await rateOf(10)
    expect(() => rate.wait(undefined, cost)).toThrow(RangeError)
    expect(() => rate.tryTake(cost)).toThrow('cost')
    expect(rate.inFlight).toBe(0)
  })

  it('asks for what is attempted, whether served or not', async () => {
    const { office, rate } = await rateOf(5, {})
    expect(office.last.resource[0]!.wants).toBe(1)
    for (let i = 0; i < 100; i++) {
      for (let n = 0; n < 4; n++) rate.tryTake()
      await office.advance(100)
    }
    const { wants } = rate.snapshot()
    expect(wants).toBeGreaterThan(38)
    expect(wants).toBeLessThan(42)
    // Asked early each time the wants had grown by a large part.
    expect(office.times).toEqual([0, 500, 1_000])
    expect(office.last.resource[0]!.wants).toBeGreaterThan(32)
  })

  it('asks for the minimum again when no caller comes', async () => {
    const { office, rate } = await rateOf(5, { minWants: 2 })
    rate.tryTake(500)
    await office.advance(20_000)
    expect(rate.snapshot().wants).toBe(2)
  })

  it('is never exceeded in any second, for any sequence of grants, requests and cancellations', async () => {
    const step = fc.record({
      ms: fc.integer({ min: 0, max: 2_500 }),
      what: fc.constantFrom('wait', 'wait', 'try', 'abort', 'grant'),
      many: fc.integer({ min: 1, max: 40 }),
      capacity: fc.constantFrom(0, 1, 3, 10, 25),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.boolean(), async (steps, smooth) => {
        let capacity = 10
        const office = new Office((request) => office.grant(request, capacity, { lengthS: 3_600, refreshS: 3_600 }))
        const rate = office.client.rate('r', { wants: 100, smooth })
        await office.advance(0)
        // The first second begins now.
        expect(rate.inFlight).toBe(0)
        const served: number[] = []
        const grants = [{ atMs: 0, capacity }]
        let controllers: AbortController[] = []
        rate.onChange((granted) => grants.push({ atMs: office.world.clock(), capacity: granted }))
        let wants = 100
        for (const { ms, what, many, capacity: next } of steps) {
          if (what === 'grant') {
            capacity = next
            wants *= 2
            rate.setWants(wants)
          }
          if (what === 'abort') for (const controller of controllers.splice(0, many)) controller.abort()
          for (let i = 0; i < many; i++) {
            if (what === 'try' && rate.tryTake()) served.push(office.world.clock())
            if (what !== 'wait') continue
            const controller = new AbortController()
            controllers.push(controller)
            void rate.wait(controller.signal).then(
              () => served.push(office.world.clock()),
              () => {},
            )
          }
          await office.advance(ms)
        }
        controllers = []
        const largest = (fromMs: number): number => {
          const before = grants.findLast(({ atMs }) => atMs < fromMs)?.capacity ?? 0
          const during = grants.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + 1_000)
          return Math.max(before, ...during.map(({ capacity }) => capacity))
        }
        const seconds = new Map<number, number>()
        for (const atMs of served) {
          const second = Math.floor(atMs / 1_000 + 1e-6) * 1_000
          seconds.set(second, (seconds.get(second) ?? 0) + 1)
        }
        for (const [second, count] of seconds) {
          // A part of a second that began under a larger grant may be spent to its end, and parts of another length
          // need not align with our second: one more of them may begin in it.
          const most = smooth ? Math.max(largest(second), largest(second - 1_000)) + 1 : largest(second)
          expect(count).toBeLessThanOrEqual(most)
        }
        // No caller waits while units are available.
        if (capacity > 0) {
          await office.advance(1_000 * (1 + (rate.waiting + 1) / capacity) + 6_000)
          expect(rate.waiting).toBe(0)
        }
        await office.client.close()
        expect(office.world.timers).toBe(0)
      }),
      { numRuns: byWidth(100, 500) },
    )
  })
})
