import { describe, expect, it } from 'vitest'
import { seededRandom } from '../testing/seeded-random.js'
import { queueOf, settled } from './fixtures/queue-of.js'
import type { QueueOptions } from './index.js'

/** A flow that keeps `many` requests in the queue, with a duration of `ms`. */
interface Sender {
  readonly flow: string
  readonly ms: number
  readonly band?: number
  /** Their declared cost; and their actual cost, if different. @default 1 */
  readonly cost?: number
  readonly really?: number
  readonly many?: number
  /** Duration of the next one, if it varies. */
  readonly nextMs?: () => number
}

/** The mean slots of each sender, of 20, over the last two thirds of this time. */
async function slotsOf(
  senders: readonly Sender[],
  options: Partial<QueueOptions> = {},
  untilMs: number = 3_000,
): Promise<number[]> {
  const { queue, world } = queueOf({ concurrency: 20, maxWaitMs: 1e6, ...options })
  const held = senders.map(() => 0)
  const sums = senders.map(() => 0)
  const send = async (index: number): Promise<void> => {
    const { flow, ms, nextMs = () => ms, band = 0, cost = 1, really = cost } = senders[index]!
    const answer = await queue.enter({ flow, band, cost })
    if (!answer.admitted) return
    held[index]!++
    world.after(nextMs(), () => {
      held[index]!--
      answer.finish('success', { cost: really })
      void send(index)
    })
  }
  for (let i = 0; i < 40; i++) for (const [index, { many = 40 }] of senders.entries()) if (i < many) void send(index)
  for (let ms = 0; ms < untilMs; ms++) {
    world.advance(1)
    await settled()
    if (ms >= untilMs / 3) for (const [index, slots] of held.entries()) sums[index]! += slots / ((2 / 3) * untilMs)
  }
  return sums
}

const slow: Sender = { flow: 'a', ms: 400 }
const fast: Sender = { flow: 'b', ms: 10 }
const others = Array.from({ length: 30 }, (_, i): Sender => ({ flow: `o${i}`, ms: 10, band: 1, many: 3 }))

describe('shares of the slots', () => {
  it.each([
    ['none', [{}], [], 10],
    ['30 that wait below, in vain', [{}, {}], others, 10],
    ['30 in a band with a share', [{ share: 0.5 }, { share: 0.5 }], others, 5],
    ['one in a band with a share', [{ share: 0.5 }, { share: 0.5 }], [{ ...fast, flow: 'c', band: 1 }], 5],
    ['nobody in a band that lends nothing', [{}, { share: 0.2, lendable: 0 }], [], 8],
  ])('are those of the flows of a band, whoever is in others: %s', async (_, bands, more, share) => {
    const [a, b] = await slotsOf([slow, fast, ...more], { bands })
    expect(a).toBeCloseTo(share, 0)
    expect(b).toBeCloseTo(share, 0)
  })

  it('do not grow by cheap requests that wait', async () => {
    const options: Partial<QueueOptions> = { bands: [{}, {}] }
    const three = [slow, fast, { ...fast, flow: 'c' }]
    const [honest] = await slotsOf(three, options)
    const [a, b] = await slotsOf([...three, { ...slow, band: 1, cost: 1e-6 }], options)
    expect(a).toBeLessThan(honest! + 0.5)
    expect(b).toBeGreaterThan(6)
  })

  it('do not grow by requests of its own that cost nearly nothing and end at once', async () => {
    // They make rounds so short that the turns of the others are thousands of rounds away.
    const idle: Sender = { flow: 'a', ms: 0, cost: 1e-6, many: 10 }
    const [a, b, c] = await slotsOf([slow, fast, { ...fast, flow: 'c' }, ...Array.from({ length: 20 }, () => idle)], {
      perFlowLimit: 1_000,
    })
    expect(a).toBeLessThan(8)
    expect(Math.min(b!, c!)).toBeGreaterThan(5.5)
  })

  it.each(
    [1, 2].flatMap((slots) =>
      [1, 0.5].flatMap((weight) => [1, 1e-3, 1e-9].map((cost) => [slots, weight, cost] as const)),
    ),
  )('of %i slots and weight %f do not grow by no-ops of cost %f', async (slots, weight, cost) => {
    const real: Sender = { flow: 'a', ms: 10 }
    const noOp: Sender = { flow: 'a', ms: 0, cost }
    const weightOf = (flow: string): number => (flow === 'a' ? weight : 1)
    const [a, b] = await slotsOf([real, { ...real, flow: 'b' }, noOp], { concurrency: slots, weightOf })
    expect(a!).toBeLessThan(1.05 * weight * b!)
    // A no-op has its slot until the world's next millisecond.
    expect(b!).toBeGreaterThan((0.9 * slots) / (1 + weight))
  })

  it('follow what requests have really cost, not what they declare', async () => {
    const [a, b] = await slotsOf([{ ...slow, cost: 0.01, really: 1 }, fast], { estimates: 'asked' })
    expect(a).toBeCloseTo(10, 0)
    expect(b).toBeCloseTo(10, 0)
  })

  it.each([
    ['nobody', 0],
    ['a request of another flow', 1],
  ])('are owed by nobody for slots that nobody else asked for, beside %s', async (_, others) => {
    const { queue, world } = queueOf({ concurrency: 3 + others, maxWaitMs: 1e6 })
    const held: Record<string, number> = { a: 0, b: 0, c: 0, stream: 0 }
    const send = async (flow: string, ms: number, untilMs: number): Promise<void> => {
      const answer = await queue.enter({ flow })
      if (!answer.admitted) return
      held[flow]!++
      world.after(ms, () => {
        held[flow]!--
        answer.finish('success')
        if (world.clock() < untilMs) void send(flow, ms, untilMs)
      })
    }
    const many = (flow: string, ms: number, untilMs: number): void => {
      for (let i = 0; i < 10; i++) void send(flow, ms, untilMs)
    }
    let a = 0
    // A long request; then a share of 1.5 slots beside b, and all slots without it.
    void send('c', 60_000, 0)
    if (others > 0) void send('stream', 1e7, 0)
    many('a', 100, 1e7)
    for (let s = 0; s < 200; s++) {
      if (s === 70) many('b', 100, 75_000)
      if (s === 140) many('b', 100, 1e7)
      for (let i = 0; i < 10; i++) {
        world.advance(100)
        await settled()
        if (s >= 140) a += held['a']! / 600
      }
    }
    expect(a).toBeCloseTo(1.5, 1)
  })

  it('are met soon after one request that was long', async () => {
    const { queue, world } = queueOf({ concurrency: 3, maxWaitMs: 1e6 })
    let [held, mean] = [0, 0]
    const send = async (flow: string, ms: number): Promise<void> => {
      const answer = await queue.enter({ flow })
      if (!answer.admitted) return
      if (flow === 'a') held++
      world.after(ms, () => {
        if (flow === 'a') held--
        answer.finish('success')
        if (flow !== 'c') void send(flow, ms)
      })
    }
    void send('c', 60_000)
    for (let i = 0; i < 10; i++) void send('a', 5_000)
    for (let s = 0; s < 240; s++) {
      if (s === 120) for (let i = 0; i < 10; i++) void send('b', 100)
      for (let i = 0; i < 10; i++) {
        world.advance(100)
        await settled()
        if (s >= 120) mean += held / 1_200
      }
    }
    expect(mean).toBeCloseTo(1.5, 1)
  })

  it('are had over time, parts of a slot included, however long requests run', async () => {
    const three = await slotsOf([slow, fast], { concurrency: 3 }, 12_000)
    expect(three[0]).toBeCloseTo(1.5, 1)
    expect(three[1]).toBeCloseTo(1.5, 1)
    const random = seededRandom(23)
    const upTo = (most: number): number => 1 + Math.floor(most * random())
    for (let world = 0; world < 20; world++) {
      const senders = Array.from({ length: 1 + upTo(6) }, (_, i) => {
        const ms = random() < 0.5 ? upTo(10) : upTo(100)
        return { flow: `${i}`, ms, nextMs: () => ms * (0.5 + random()), weight: upTo(3), most: upTo(16) }
      })
      // So that each share is at least one slot.
      const concurrency = 3 * senders.length + upTo(10)
      const perFlowConcurrency = (flow: string): number => senders[Number(flow)]!.most
      const weightOf = (flow: string): number => senders[Number(flow)]!.weight
      const mean = await slotsOf(senders, { concurrency, perFlowConcurrency, perFlowLimit: 1_000, weightOf }, 12_000)
      const off = maxMin(senders, concurrency).map((share, i) => Math.abs(mean[i]! / share - 1))
      expect(Math.max(...off)).toBeLessThan(0.05)
    }
  })
})

/** Shares of an amount that is distributed over all by weight, until each has its maximum. */
function maxMin(senders: readonly { readonly weight: number; readonly most: number }[], amount: number): number[] {
  let [low, high] = [0, amount]
  const shares = (level: number): number[] => senders.map(({ weight, most }) => Math.min(most, level * weight))
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2
    if (shares(middle).reduce((sum, share) => sum + share) > amount) high = middle
    else low = middle
  }
  return shares(low)
}
