import { createGate, type Gate, type GateOptions } from '@fairlead/core'
import { fixed, requestQueue } from '@fairlead/core/queue'
import { seededRandom, settled, World } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import type { Frame, RecordFrame } from '../frame.js'
import { servedBy } from '../views/view.js'
import { Watch } from '../watch.js'
import { recordingOf, replay, termsAsTheyWere } from './replay.js'

const IS_WIDE = process.env['FAIRLEAD_WIDE'] !== undefined

interface Recorded {
  readonly frames: readonly Frame[]
  readonly records: readonly RecordFrame[]
}

/** A pool of connections with a queue, independent of the replay's model. */
class Pool {
  #busy = 0
  readonly #line: (() => void)[] = []
  readonly #world: World
  readonly #connections: number
  readonly #longest: number
  readonly #lengthMs: () => number

  constructor(world: World, connections: number, longest: number, lengthMs: () => number) {
    this.#world = world
    this.#connections = connections
    this.#longest = longest
    this.#lengthMs = lengthMs
  }

  use(done: (served: boolean) => void): void {
    if (this.#busy < this.#connections) this.#run(done)
    else if (this.#line.length >= this.#longest) done(false)
    else this.#line.push(() => this.#run(done))
  }

  #run(done: (served: boolean) => void): void {
    this.#busy++
    this.#world.after(this.#lengthMs(), () => {
      this.#busy--
      done(true)
      this.#line.shift()?.()
    })
  }
}

/** A console's frames of `seconds` in which flows ask at these rates; `seed` sets the random draws. */
async function record(
  seconds: number,
  rateOf: (second: number) => Readonly<Record<string, number>>,
  options: Partial<GateOptions>,
  poolOf: (world: World, lengthMs: () => number) => Pool,
  seed = 0,
): Promise<Recorded> {
  const world = new World()
  const { clock, after } = world
  clock.advance(Date.UTC(2026, 10, 23, 12))
  const random = seededRandom(7 + 10 * seed)
  const gate: Gate = createGate({ clock, after, random: seededRandom(8 + 10 * seed), ...options })
  const pool = poolOf(world, () => 80 + 40 * random())
  const watch = new Watch(gate, {
    clock,
    timeOfDay: clock,
    random,
    label: (flow) => flow,
    isHashed: false,
    process: 'test',
  })
  watch.recording = true
  const frames: Frame[] = []
  const records: RecordFrame[] = []
  const ask = (flow: string): void => {
    const decision = gate.admit({ flow })
    const go = (answer: Awaited<typeof decision>): void => {
      if (answer.admitted) pool.use((served) => answer.finish(served ? 'success' : 'failure'))
    }
    if (decision instanceof Promise) void decision.then(go)
    else go(decision)
  }
  for (let second = 0; second < seconds; second++) {
    const arrivals = Object.entries(rateOf(second)).flatMap(([flow, rate]) => {
      const times: { flow: string; atMs: number }[] = []
      for (
        let atMs = (-1_000 * Math.log(1 - random())) / rate;
        atMs < 1_000;
        atMs += (-1_000 * Math.log(1 - random())) / rate
      )
        times.push({ flow, atMs })
      return times
    })
    arrivals.sort((a, b) => a.atMs - b.atMs)
    const startMs = clock()
    for (const { flow, atMs } of arrivals) {
      while (world.nextMs <= startMs + atMs) {
        world.advance(Math.max(0, world.nextMs - clock()))
        await settled()
      }
      world.advance(startMs + atMs - clock())
      ask(flow)
    }
    while (world.nextMs <= startMs + 1_000) {
      world.advance(Math.max(0, world.nextMs - clock()))
      await settled()
    }
    world.advance(startMs + 1_000 - clock())
    const recorded = watch.recorded()
    if (recorded !== undefined) records.push(recorded)
    frames.push(watch.frame())
  }
  watch.stop()
  gate.close()
  return { frames, records }
}

const QUIET = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`quiet-${i}`, 8]))

/** The largest relative difference in what the flows were served; `''`: all together. */
function error(was: readonly Frame[], replayed: readonly Frame[], flows: readonly string[]): number {
  const [a, b] = [servedBy(was), servedBy(replayed)]
  return Math.max(...flows.map((flow) => Math.abs(b.get(flow)! / a.get(flow)! - 1)))
}

const shareOf = (frames: readonly Frame[], flow: string): number =>
  servedBy(frames).get(flow)! / servedBy(frames).get('')!

describe('a replay under FAIR', () => {
  const shortOf = (seconds: number, seed?: number): Promise<Recorded> =>
    record(
      seconds,
      (second) => (second < 20 ? QUIET : { ...QUIET, heavy: 300, other: 120 }),
      {},
      (world, lengthMs) => new Pool(world, 30, 60, lengthMs),
      seed,
    )
  const recorded = shortOf(90, 1)
  const asItWas = recorded.then(({ frames, records }) => termsAsTheyWere(recordingOf(records), frames))

  it.each(IS_WIDE ? [1, 4, 8] : [1])(
    'seed %i: of 90 seconds with the onset in it comes to the same, within 2 per cent',
    async (seed) => {
      const { frames, records } = await (seed === 1 ? recorded : shortOf(90, seed))
      const recording = recordingOf(records)
      const terms = await (seed === 1 ? asItWas : termsAsTheyWere(recording, frames))
      expect(terms.rule).toBe('fair')
      expect(Math.abs(terms.capacity / 300 - 1)).toBeLessThan(0.05)
      const replayed = await replay(recording, terms)
      expect(error(frames, replayed, ['', 'heavy', 'other'])).toBeLessThan(0.02)
      // A repetition gives the same: the seed is part of the terms.
      expect(servedBy(await replay(recording, terms))).toEqual(servedBy(replayed))
    },
  )

  it('with twice the weight gives twice as much, and with twice the capacity nearly all', async () => {
    const { frames, records } = await recorded
    const recording = recordingOf(records)
    const terms = await asItWas
    const weights = new Map([...terms.weights, ['heavy', 2] as const])
    const favoured = (await replay(recording, { ...terms, weights })).slice(40)
    expect(servedBy(favoured).get('heavy')! / servedBy(favoured).get('other')!).toBeCloseTo(2, 0)
    const bigger = await replay(recording, { ...terms, capacity: 2 * terms.capacity })
    expect(servedBy(bigger).get('')! / servedBy(frames).get('')!).toBeGreaterThan(1.5)
    const open = await replay(recording, { ...terms, rule: 'none' })
    expect(shareOf(open, 'heavy')).toBeGreaterThan(1.3 * shareOf(frames, 'heavy'))
  })
})

describe('a replay of a queue', () => {
  it('of what was comes to the same, within 2 %, and with other weights does not', async () => {
    const slots = { fair: false, queue: requestQueue({ concurrency: fixed(20), maxWaitMs: 2_000 }) } as const
    const { frames, records } = await record(
      IS_WIDE ? 240 : 60,
      (second) => (second < 10 ? QUIET : { ...QUIET, heavy: 200, other: 60 }),
      slots,
      (world, lengthMs) => new Pool(world, 1_000, 0, lengthMs),
    )
    const recording = recordingOf(records)
    const terms = await termsAsTheyWere(recording, frames)
    expect(terms).toMatchObject({ rule: 'queue', capacity: 20 })
    const replayed = await replay(recording, terms)
    // Random draws can give one of two equal flows 1 or 2 % more in a minute, in either run, and less in four.
    expect(error(frames, replayed, ['', 'heavy', 'other', 'quiet-3'])).toBeLessThan(0.02)
    const favoured = await replay(recording, { ...terms, weights: new Map([['heavy', 3]]) })
    expect(shareOf(favoured, 'heavy')).toBeGreaterThan(1.2 * shareOf(replayed, 'heavy'))
  })
})
