import { byWidth } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Office, watch } from './fixtures/office.js'
import { type GaugeLease, type GaugeOptions, LeaseClosedError, type Slot } from './index.js'

/** A gauge whose capacity is `capacity.is`, read at each request. */
async function gaugeOf(
  initial: number,
  options: GaugeOptions = { wants: 100 },
): Promise<{ office: Office; gauge: GaugeLease; grant: (capacity: number) => Promise<void> }> {
  let capacity = initial
  const office = new Office((request) => office.grant(request, capacity))
  const gauge = office.client.gauge('g', options)
  await office.advance(0)
  const grant = async (next: number): Promise<void> => {
    capacity = next
    await office.advance(18_000)
    expect(gauge.capacity).toBe(next)
  }
  return { office, gauge, grant }
}

const NEVER = { aborted: false, throwIfAborted: () => {} }
const raise = (message: string): never => {
  throw new Error(message)
}

describe('a leased gauge', () => {
  it('gives out as many slots as were granted, and then first come, first served', async () => {
    const { office, gauge } = await gaugeOf(2)
    const slots = [await gauge.take(), await gauge.take()]
    const order: number[] = []
    const later = [0, 1, 2].map((i) => gauge.take().then((slot) => [order.push(i), slot] as const))
    await office.advance(60_000)
    expect([order, gauge.inFlight, gauge.waiting]).toEqual([[], 2, 3])
    slots[0]!.release()
    slots[0]!.release()
    await office.advance(0)
    expect([order, gauge.inFlight]).toEqual([[0], 2])
    slots[1]!.release()
    const [, first] = await later[0]!
    first.release()
    await office.advance(0)
    expect([order, gauge.inFlight, gauge.waiting]).toEqual([[0, 1, 2], 2, 0])
  })

  it.each([
    [{ aborted: false, throwIfAborted: () => {} }, 'signal must be an AbortSignal, got an object'],
    [null, 'signal must be an AbortSignal, got null'],
    // As on Workers, where listening to another request's signal throws.
    [{ ...NEVER, addEventListener: () => raise('not yours') }, 'not yours'],
  ])('keeps no slot for a signal that cannot be listened to: %j', async (signal, message) => {
    const { gauge } = await gaugeOf(1)
    const slot = await gauge.take()
    await expect(gauge.take(signal as never)).rejects.toThrow(message)
    expect(gauge.waiting).toBe(0)
    slot.release()
    expect([gauge.inFlight, gauge.tryTake()]).toEqual([0, true])
  })

  it.each([Number.NaN, -3, 1e9])('keeps a slot if the release is wrong: %d', async (width) => {
    const { gauge } = await gaugeOf(2)
    const slot = await gauge.take()
    expect(() => gauge.release(width)).toThrow(/^width must be a number > 0, of the 1 slots in flight, got/)
    expect(() => gauge.tryTake(5n as never)).toThrow('width must be a number > 0, got 5')
    expect(gauge.inFlight).toBe(1)
    slot.release()
    expect(gauge.inFlight).toBe(0)
  })

  it('takes a slot back at the end of its block', async () => {
    const { gauge } = await gaugeOf(1)
    {
      using slot = await gauge.take()
      expect([gauge.inFlight, slot]).toEqual([1, expect.anything()])
    }
    expect(gauge.inFlight).toBe(0)
  })

  it('counts slots until they are released when the lease shrinks, and says so to the server', async () => {
    const { office, gauge, grant } = await gaugeOf(5)
    const slots: Slot[] = []
    for (let i = 0; i < 5; i++) slots.push(await gauge.take())
    await grant(2)
    const waiting = watch(gauge.take())
    await office.advance(18_000)
    expect(office.last.resource[0]).toMatchObject({ has: { capacity: 5 } })
    for (const slot of slots.slice(0, 3)) slot.release()
    await office.advance(18_000)
    expect([waiting.done, gauge.inFlight]).toEqual([false, 2])
    expect(office.last.resource[0]).toMatchObject({ has: { capacity: 2 } })
    slots[3]!.release()
    await office.advance(0)
    expect(waiting.done).toBe(true)
  })

  it('serves waiting callers when it grows', async () => {
    const { gauge, grant } = await gaugeOf(0)
    const waiting = [watch(gauge.take()), watch(gauge.take()), watch(gauge.take())]
    await grant(2)
    expect(waiting.map(({ done }) => done)).toEqual([true, true, false])
    await grant(-1)
    expect(waiting[2]!.done).toBe(true)
    expect(gauge.limit).toBe(Number.MAX_SAFE_INTEGER)
  })

  it.each([
    [2.9, 2],
    [0.9, 0],
    [0, 0],
  ])('has %d for %d slots', async (capacity, slots) => {
    const { office, gauge } = await gaugeOf(capacity)
    const taken = [1, 2, 3].map(() => watch(gauge.take()))
    await office.advance(0)
    expect(taken.filter(({ done }) => done).length).toBe(slots)
  })

  it('keeps a wide caller in its place, and no other passes it', async () => {
    const { office, gauge } = await gaugeOf(3)
    const slot = await gauge.take()
    const wide = watch(gauge.take(undefined, 3))
    const narrow = watch(gauge.take())
    await office.advance(1_000)
    expect([wide.done, narrow.done, gauge.tryTake()]).toEqual([false, false, false])
    slot.release()
    await office.advance(0)
    expect([wide.done, narrow.done]).toEqual([true, false])
  })

  it('leaves the line when its signal fires, and lets the next one come', async () => {
    const { office, gauge } = await gaugeOf(2)
    const controller = new AbortController()
    await gauge.take()
    const wide = watch(gauge.take(controller.signal, 2))
    const narrow = watch(gauge.take())
    controller.abort(new Error('gone'))
    await office.advance(0)
    expect(wide).toMatchObject({ error: { message: 'gone' } })
    expect([narrow.done, gauge.inFlight, gauge.waiting]).toEqual([true, 2, 0])
    await expect(gauge.take(controller.signal)).rejects.toThrow('gone')
  })

  it('is given back when it is closed, once the last slot has come back', async () => {
    const { office, gauge } = await gaugeOf(2)
    const slots = [await gauge.take(), await gauge.take()]
    const waiting = watch(gauge.take())
    gauge.close()
    await office.advance(60_000)
    expect(waiting.error).toBeInstanceOf(LeaseClosedError)
    await expect(gauge.take()).rejects.toThrow('the lease of g is closed')
    expect(gauge.tryTake()).toBe(false)
    // The lease is kept for the slots that are still in use.
    expect([office.released.length, office.asked.length > 2]).toEqual([0, true])
    for (const slot of slots) slot.release()
    await office.advance(0)
    expect([office.released.length, office.world.timers]).toEqual([1, 0])
  })

  it('is the same lease for new users while slots are in use', async () => {
    const { office, gauge } = await gaugeOf(2)
    const slot = await gauge.take()
    gauge.close()
    gauge.close()
    expect(office.client.gauge('g')).toBe(gauge)
    slot.release()
    await office.advance(0)
    expect([office.released.length, gauge.tryTake(), gauge.closed]).toEqual([0, true, false])
  })

  it('is given back after the client was closed, when the last slot comes', async () => {
    const { office, gauge } = await gaugeOf(2)
    const slot = await gauge.take()
    const closed = watch(office.client.close())
    await office.advance(120_000)
    expect([closed.done, office.released.length, office.asked.length]).toEqual([true, 0, 1])
    slot.release()
    await office.advance(0)
    expect([office.released.length, office.world.timers]).toEqual([1, 0])
  })

  it('asks for the most that was in use and waiting at one time', async () => {
    const { office, gauge } = await gaugeOf(3, {})
    expect(office.last.resource[0]!.wants).toBe(1)
    const slots = [await gauge.take(), await gauge.take(), await gauge.take()]
    const controller = new AbortController()
    for (let i = 0; i < 4; i++) void gauge.take(controller.signal).catch(() => {})
    await office.advance(500)
    expect(office.times).toEqual([0, 500])
    expect(office.last.resource[0]).toMatchObject({ wants: 7, waiting: 4 })
    // While a caller waits, the client asks for more every 0.7 s.
    await office.advance(3_500)
    expect(office.times).toHaveLength(6)
    controller.abort()
    for (const slot of slots.slice(1)) slot.release()
    await office.advance(900)
    expect(gauge.snapshot().wants).toBe(7)
    await office.advance(200)
    expect(gauge.snapshot().wants).toBe(1)
  })

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses a width of %d', async (width) => {
    const { gauge } = await gaugeOf(10)
    await expect(gauge.take(undefined, width)).rejects.toThrow('width')
    expect(() => gauge.tryTake(width)).toThrow(RangeError)
    expect(gauge.inFlight).toBe(0)
  })

  it('never gives out more than is granted at that moment, and serves every caller', async () => {
    const step = fc.record({
      ms: fc.constantFrom(0, 0, 500, 20_000),
      what: fc.constantFrom('take', 'take', 'release', 'release', 'abort', 'grant'),
      index: fc.nat(),
      width: fc.constantFrom(0.5, 1, 1, 2),
      capacity: fc.constantFrom(0, 1, 2.5, 4, 8),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        let capacity = 4
        const office = new Office((request) => office.grant(request, capacity))
        const gauge = office.client.gauge('g', { wants: 8 })
        await office.advance(0)
        const held: { width: number; slot: Slot }[] = []
        const waiting = new Map<AbortController, number>()
        for (const { ms, what, index, width, capacity: next } of steps) {
          if (what === 'grant') capacity = next
          if (what === 'release') held.splice(index % (held.length || 1), 1)[0]?.slot.release()
          if (what === 'abort') [...waiting.keys()][index % (waiting.size || 1)]?.abort()
          if (what === 'take') {
            const controller = new AbortController()
            waiting.set(controller, width)
            void gauge.take(controller.signal, width).then(
              (slot) => {
                waiting.delete(controller)
                held.push({ width, slot })
                const all = held.reduce((sum, { width }) => sum + width, 0)
                expect(all).toBeLessThanOrEqual(gauge.capacity + 1e-9)
              },
              () => waiting.delete(controller),
            )
          }
          await office.advance(ms)
          const all = held.reduce((sum, { width }) => sum + width, 0)
          expect(gauge.inFlight).toBeCloseTo(all, 9)
          expect(gauge.waiting).toBe(waiting.size)
          const [first] = waiting.values()
          if (first !== undefined) expect(all + first).toBeGreaterThan(gauge.capacity)
        }
        capacity = 8
        await office.advance(20_000)
        while (held.length > 0) {
          held.shift()!.slot.release()
          await office.advance(0)
        }
        expect([gauge.inFlight, gauge.waiting]).toEqual([0, 0])
      }),
      { numRuns: byWidth(100, 500) },
    )
  })
})
