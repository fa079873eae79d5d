import { getEventListeners } from 'node:events'
import { byWidth } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Passage } from '../admission/stage.js'
import { adaptive } from '../capacity/index.js'
import { firstOf } from '../path.js'
import { seededRandom } from '../testing/seeded-random.js'
import { World } from '../testing/world.js'
import type { PoolOptions, RequestQueueOptions } from './options.js'
import type { QueuePermit, QueueRequest } from './queued-request.js'
import { RequestQueue } from './request-queue.js'

interface Asked {
  readonly flow: string
  readonly width: number
  readonly band: number
  readonly limitMs: number
  readonly order: number
  state: 'waiting' | 'running' | 'ended'
  answers: number
  permit: QueuePermit | undefined
}

const MAX_WAIT_MS = 100
/** A million in all in `pnpm test:deep`. */
const OPERATIONS = process.env['FAIRLEAD_PROPERTY_RUNS'] === undefined ? byWidth(4_000, 50_000) : 250_000
const RUNS = { numRuns: byWidth(20, 60) }
const REASONS = [
  'flow-full',
  'queue-full',
  'would-wait-too-long',
  'expired',
  'evicted',
  'deadline',
  'too-wide',
  'gone',
  'closed',
]

/** A queue under random operations, with a naive record of all requests. */
class Trial {
  readonly world = new World()
  readonly queue: RequestQueue
  readonly all: Asked[] = []
  readonly controllers: AbortController[] = []
  /** In the order of their starts. */
  readonly started: Asked[] = []

  constructor(options: Partial<RequestQueueOptions>) {
    const { clock, after } = this.world
    this.queue = new RequestQueue({
      concurrency: 4,
      maxWaitMs: MAX_WAIT_MS,
      clock,
      after,
      random: seededRandom(7),
      ...options,
    })
  }

  ask({ flow: asFlow, width = 1, band = 0, deadlineMs, ...rest }: QueueRequest): Asked {
    const limitMs = Math.min(MAX_WAIT_MS, deadlineMs ?? Number.POSITIVE_INFINITY)
    const flow = firstOf(asFlow)
    const asked: Asked = {
      flow,
      width,
      band,
      limitMs,
      order: this.all.length,
      state: 'waiting',
      answers: 0,
      permit: undefined,
    }
    this.all.push(asked)
    const note = (answer: Exclude<ReturnType<RequestQueue['enter']>, Promise<unknown>>): void => {
      asked.answers++
      if (!answer.admitted) {
        if (!REASONS.includes(answer.reason)) throw new Error(`unknown reason ${answer.reason}`)
        asked.state = 'ended'
        return
      }
      if (answer.waitedMs > 0 && !(answer.waitedMs < limitMs)) throw new Error(`started after ${answer.waitedMs} ms`)
      asked.state = 'running'
      asked.permit = answer
      this.started.push(asked)
    }
    const answer = this.queue.enter({ flow, width, band, deadlineMs, ...rest })
    if (answer instanceof Promise) void answer.then(note)
    else note(answer)
    return asked
  }

  finish(asked: Asked): void {
    asked.permit!.finish('success', { cost: asked.width })
    asked.state = 'ended'
  }

  controller(): AbortController {
    const controller = new AbortController()
    this.controllers.push(controller)
    return controller
  }

  /** Invariants at any time once answers have been received. */
  check(): void {
    const { came, exempted, startedAtOnce, startedLater, refused, waiting, running, ...rest } = this.queue.snapshot()
    const { capacity, pool, bands, capacityErrors } = rest
    expect(came).toBe(exempted + startedAtOnce + startedLater + refused + waiting)
    expect(waiting).toBe(this.all.filter(({ state }) => state === 'waiting').length)
    const runs = this.all.filter(({ state }) => state === 'running')
    expect(running).toBe(runs.length)
    const width = runs.reduce((sum, { width }) => sum + width, 0)
    expect(capacity).toMatchObject({ inFlight: width })
    if (pool !== undefined) expect(pool).toMatchObject({ inFlight: 3 * width })
    expect(bands.reduce((sum, { running }) => sum + running, 0)).toBe(width)
    expect(this.world.timers).toBe(waiting > 0 ? 1 : 0)
    expect(capacityErrors).toBe(0)
  }

  /** Invariants after all have ended. */
  checkEnd(): void {
    this.check()
    for (const { answers } of this.all) expect(answers).toBe(1)
    for (const { signal } of this.controllers) expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(this.queue.snapshot()).toMatchObject({
      waiting: 0,
      running: 0,
      passing: undefined,
      capacity: { inFlight: 0 },
    })
    for (const { queue, credit, waiting } of this.queue.snapshot().bands) {
      expect(queue).toMatchObject({ waiting: 0, cost: 0, records: 0 })
      expect({ credit, waiting }).toEqual({ credit: 0, waiting: 0 })
    }
  }
}

async function settled(): Promise<void> {
  for (let i = 0; i < 3; i++) await Promise.resolve()
}

type Step =
  | { ask: string; width: number; deadlineMs: number | undefined; signal: boolean }
  | { finish: number }
  | { abort: number }
  | { advance: number; late: boolean }

const step = (flows: string[], mostWidth: number): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        ask: fc.constantFrom(...flows),
        width: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: mostWidth })),
        deadlineMs: fc.option(fc.integer({ min: 0, max: 200 }), { nil: undefined }),
        signal: fc.boolean(),
      }),
    },
    { weight: 4, arbitrary: fc.record({ finish: fc.nat(10) }) },
    { weight: 1, arbitrary: fc.record({ abort: fc.nat(20) }) },
    { weight: 2, arbitrary: fc.record({ advance: fc.integer({ min: 1, max: 60 }), late: fc.boolean() }) },
  )

async function apply(trial: Trial, each: Step): Promise<void> {
  if ('ask' in each) {
    const { ask: flow, width, deadlineMs, signal } = each
    trial.ask({ flow, width, deadlineMs, ...(signal ? { signal: trial.controller().signal } : {}) })
  } else if ('finish' in each) {
    const running = trial.all.filter(({ state }) => state === 'running')
    if (running.length > 0) trial.finish(running[each.finish % running.length]!)
  } else if ('abort' in each) trial.controllers[each.abort]?.abort()
  else if (each.late) trial.world.stall(each.advance)
  else trial.world.advance(each.advance)
  await settled()
}

async function empty(trial: Trial): Promise<void> {
  for (;;) {
    const running = trial.all.filter(({ state }) => state === 'running')
    for (const each of running) trial.finish(each)
    trial.world.advance(10)
    await settled()
    if (trial.queue.snapshot().waiting === 0 && trial.queue.snapshot().running === 0) return
  }
}

describe('one flow, in order of arrival', () => {
  const CAPACITY = 4

  /** Widths of the requests that came after `asked` and started before it. */
  const passed = (trial: Trial, asked: Asked): number =>
    trial.started.reduce((sum, { order, width }) => (order > asked.order ? sum + width : sum), 0)

  it.each([0, 0.5, 2, 5])(
    'passes at most %d times the width of a wide one, and idles for nobody else',
    async (bypass) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step(['a'], CAPACITY), { maxLength: 80 }), async (steps) => {
          const trial = new Trial({ concurrency: CAPACITY, bypass, perFlowLimit: 1_000 })
          for (const each of steps) {
            await apply(trial, each)
            const waiting = trial.all.filter(({ state }) => state === 'waiting')
            const inFlight = trial.all.reduce((sum, { state, width }) => (state === 'running' ? sum + width : sum), 0)
            const free = CAPACITY - inFlight
            for (const asked of waiting) expect(passed(trial, asked)).toBeLessThanOrEqual(bypass * asked.width)
            // The oldest does not wait if it fits; nor does the next if it fits and may pass.
            const [first, second] = waiting
            if (first !== undefined) expect(first.width).toBeGreaterThan(free)
            if (second !== undefined && second.width <= free)
              expect(passed(trial, first!) + second.width).toBeGreaterThan(bypass * first!.width)
            if (trial.world.nextMs > trial.world.clock()) trial.check()
          }
          await empty(trial)
          trial.checkEnd()
        }),
        RUNS,
      )
    },
  )
})

/** A request takes three units for each slot; one of width 4 is too wide. */
const POOL: PoolOptions = { size: 11, unitsOf: ({ cost }) => 3 * cost }
/** A third of the requests take no units. */
const MANY: PoolOptions = { size: 1_000, unitsOf: ({ nowMs }) => (Math.floor(nowMs) % 3) * 90 }
const byName = ({ flow }: Passage): number => flow.charCodeAt(0) % 3

describe('several flows', () => {
  it.each<[string, Partial<RequestQueueOptions> | (() => Partial<RequestQueueOptions>)]>([
    ['exact', {}],
    ['of a capacity that changes', () => ({ concurrency: adaptive({ initial: 2, max: 4 }) })],
    ['with little queue', { maxWaiting: 3, perFlowLimit: 2 }],
    ['with little queue, refusing', { maxWaiting: 3, perFlowLimit: 2, overflow: 'refuse' }],
    ['stochastic', { queues: 2 }],
    ['newest first', { newestFirst: true }],
    ['in bands', { bands: [{}, { minShare: 0.2 }, {}], bandOf: ({ flow }) => flow.charCodeAt(0) % 3 }],
    ['in divided bands', { bands: [{ share: 0.3, lendable: 0.5 }, { most: 0.5 }, { share: 0.5 }], bandOf: byName }],
    ['with a pool', { pool: POOL }],
    [
      'with a pool and divided bands, few for a flow',
      { pool: { ...POOL, perFlow: 6 }, perFlowConcurrency: 2, bands: [{ share: 0.5 }, { minShare: 0.2, most: 0.6 }] },
    ],
  ])('leave once each and nothing behind: %s', async (_, options) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step(['a', 'b', 'c', 'd'], 4), { maxLength: 80 }), async (steps) => {
        const trial = new Trial(typeof options === 'function' ? options() : options)
        for (const each of steps) {
          await apply(trial, each)
          if (trial.world.nextMs > trial.world.clock()) trial.check()
        }
        await empty(trial)
        trial.checkEnd()
      }),
      RUNS,
    )
  })

  it.each<[string, Partial<RequestQueueOptions>]>([
    ['exact', {}],
    ['stochastic', { queues: 4 }],
  ])('keep their order while all are equally wide: %s', async (_, options) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step(['a', 'b', 'c', 'd'], 1), { maxLength: 120 }), async (steps) => {
        const trial = new Trial(options)
        for (const each of steps) await apply(trial, each)
        await empty(trial)
        const last = new Map<string, number>()
        for (const { flow, order } of trial.started) {
          expect(order).toBeGreaterThan(last.get(flow) ?? -1)
          last.set(flow, order)
        }
      }),
      RUNS,
    )
  })
})

describe(`many operations, ${OPERATIONS}`, () => {
  it.each<[string, Partial<RequestQueueOptions>]>([
    ['exact', { maxWaiting: 60, perFlowLimit: 10 }],
    ['growing and perturbed', { queues: 'auto', perturbEveryMs: 5_000, maxWaiting: 300 }],
    [
      'of a pool, in divided bands',
      {
        pool: MANY,
        bands: [
          { share: 0.4, lendable: 0.5 },
          { share: 0.2, most: 0.7 },
        ],
      },
    ],
    ['newest first, in bands', { newestFirst: true, bands: [{}, { minShare: 0.1 }, { minShare: 0.05 }] }],
  ])('leave no record, timer, listener or promise: %s', async (_, options) => {
    const random = seededRandom(42)
    const trial = new Trial({ concurrency: 8, ...options })
    const { world, queue } = trial
    const bands = options.bands?.length ?? 1
    const running: Asked[] = []
    let heard = 0
    let pending = 0
    let next = 0
    for (let i = 0; i < OPERATIONS; i++) {
      const draw = random()
      if (draw < 0.5) {
        const asked = trial.ask({
          flow: `flow-${Math.floor(random() ** 3 * 400)}`,
          width: random() < 0.9 ? 1 : 1 + Math.floor(random() * 8),
          cost: 0.1 + random(),
          band: Math.floor(random() * bands),
          ...(random() < 0.2 ? { deadlineMs: random() * 150 } : {}),
          ...(random() < 0.05 ? { signal: trial.controller().signal } : {}),
        })
        if (asked.state === 'waiting') pending++
      } else if (draw < 0.8) {
        const at = Math.floor(random() * running.length)
        const asked = running[at]
        if (asked !== undefined) {
          running[at] = running.at(-1)!
          running.pop()
          trial.finish(asked)
        }
      } else if (draw < 0.82) trial.controllers.at(-1 - Math.floor(random() * 20))?.abort()
      else if (draw < 0.9) world.stall(random() * 10)
      else world.advance(random() * 10)
      if (i % 10 === 0) await settled()
      while (next < trial.started.length) running.push(trial.started[next++]!)
    }
    queue.close()
    await settled()
    while (next < trial.started.length) running.push(trial.started[next++]!)
    for (const asked of running) trial.finish(asked)
    for (const { answers } of trial.all) heard += answers
    expect(heard).toBe(trial.all.length)
    expect(pending).toBeGreaterThan(OPERATIONS / 25)
    trial.checkEnd()
  })
})
