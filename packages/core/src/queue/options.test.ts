import { describe, expect, it } from 'vitest'
import type { Capacity } from '../capacity/index.js'
import { QUEUE_OPTIONS, type RequestQueueOptions } from './options.js'
import { RequestQueue } from './request-queue.js'

const make = (options: Partial<Record<keyof RequestQueueOptions, unknown>>) => () =>
  new RequestQueue({ concurrency: 5, ...options } as RequestQueueOptions)

const slots: Capacity = {
  limit: 5,
  inFlight: 0,
  maximum: 5,
  tryTake: () => true,
  release: () => {},
  undo: () => {},
  onAvailable: () => () => {},
  snapshot: () => ({}),
}

describe('options', () => {
  it.each<[Partial<Record<string, unknown>>, string]>([
    [{ concurrency: undefined }, 'concurrency must be a number of slots or a capacity, got undefined'],
    [{ concurrency: 0 }, 'concurrency must be an integer >= 1, got 0'],
    [{ concurrency: 1.5 }, 'concurrency must be an integer >= 1, got 1.5'],
    [{ concurrency: Number.NaN }, 'concurrency must be an integer >= 1, got NaN'],
    [{ concurrency: {} }, 'concurrency.tryTake must be a function, got undefined'],
    [{ concurrency: { ...slots, limit: Number.NaN } }, 'concurrency.limit must be a number >= 0, got NaN'],
    [{ concurrency: { ...slots, inFlight: undefined } }, 'concurrency.inFlight must be a number >= 0, got undefined'],
    [{ concurrency: { ...slots, maximum: undefined } }, 'concurrency.maximum must be a number >= 0, got undefined'],
    [{ maxWaitMs: 0 }, 'maxWaitMs must be a number > 0 and <= 86400000, got 0'],
    [{ maxWaitMs: Number.NaN }, 'maxWaitMs must be a number > 0 and <= 86400000, got NaN'],
    [{ maxWaitMS: 5 }, 'queue has no option "maxWaitMS"'],
    [{ deadlineMsOf: 5 }, 'deadlineMsOf must be a function, got 5'],
    [{ classOf: 'route' }, 'classOf must be a function'],
    [{ width: 0 }, 'width must be a number > 0 and <= 5, got 0'],
    [{ width: 6 }, 'width must be a number > 0 and <= 5, got 6'],
    [{ bypass: -1 }, 'bypass must be a number >= 0, got -1'],
    [{ bypass: Number.POSITIVE_INFINITY }, 'bypass must be a number >= 0, got Infinity'],
    ...[null, false, 0, ''].map((pool): [object, string] => [{ pool }, 'pool must be an object, got ']),
    [{ bands: new Array(3) }, 'bands[0] must be an object, got undefined'],
    // biome-ignore lint/suspicious/noSparseArray: as callers may have it
    [{ bands: [{}, , {}] }, 'bands[1] must be an object, got undefined'],
    [{ bands: 3 }, 'bands must be an array, got 3'],
    [{ bands: null }, 'bands must be an array, got null'],
    [{ bands: [] }, 'bands.length must be an integer from 1 to 16, got 0'],
    [{ bands: [{}, 0.5] }, 'bands[1] must be an object, got 0.5'],
    [{ bands: [{}, { part: 0.5 }] }, 'bands[1] has no option "part"'],
    [{ bands: [{ minShare: 0.5 }, {}] }, 'bands[0].minShare must be 0, got 0.5'],
    [{ bands: [{}, { minShare: -0.5 }] }, 'bands[1].minShare must be a number >= 0, got -0.5'],
    [{ bands: [{}, { minShare: 0.5 }, { minShare: 0.5 }] }, 'the sum of minShare must be below 1, got 1'],
    [{ bandOf: 1 }, 'bandOf must be a function, got 1'],
    [{ bands: [{}, { lendable: 0.5 }] }, 'bands[1].lendable needs a share of which it is a part, got 0.5 of 0'],
    [{ bands: [{}, { share: 0, lendable: 1 }] }, 'bands[1].lendable needs a share of which it is a part, got 1 of 0'],
    [{ newestFirst: 'overloaded' }, 'newestFirst must be true or false, got "overloaded"'],
    [{ perturbEveryMs: 60_000 }, "perturbEveryMs needs hashed queues, a number or 'auto', got 60000 without"],
    [{ queues: 8, perturbEveryMs: 100 }, 'perturbEveryMs must be a number from 5000 to 600000, got 100'],
    [{ onError: 'throw' }, 'onError must be one of "admit", "refuse", got "throw"'],
    [{ clock: 0 }, 'clock must be a function, got 0'],
    [{ random: 0.5 }, 'random must be a function, got 0.5'],
    [{ after: null }, 'after must be a function, got null'],
    [{ maxWaiting: 0 }, 'maxWaiting must be an integer >= 1, got 0'],
    [{ perFlowLimit: 2.5 }, 'perFlowLimit must be an integer >= 1, got 2.5'],
  ])('%o is refused by name', (options, message) => {
    expect(make(options)).toThrow(message)
  })

  it('lists the names that a gate passes on, without its own seams', () => {
    expect(QUEUE_OPTIONS).toContain('concurrency')
    expect(QUEUE_OPTIONS).toContain('weightOf')
    for (const seam of ['clock', 'random', 'after']) expect(QUEUE_OPTIONS).not.toContain(seam)
    expect(new Set(QUEUE_OPTIONS).size).toBe(QUEUE_OPTIONS.length)
  })

  it('takes the exact number and the stochastic form', () => {
    for (const queues of ['perFlow', 'auto', 16]) expect(make({ queues })).not.toThrow()
    expect(make({ newestFirst: true })).not.toThrow()
  })

  it('takes a capacity without a largest limit', () => {
    expect(make({ concurrency: { ...slots, maximum: Number.POSITIVE_INFINITY } })).not.toThrow()
  })

  it.each([
    [{ flow: '' }, 'flow must be a non-empty string'],
    [{ flow: 'a', cost: 0 }, 'cost must be'],
    [{ flow: 'a', unit: 3 }, 'request has no option "unit"'],
    [{ flow: 'a', units: 3 }, 'units needs a queue with a pool, got 3'],
    [{ flow: 'a', width: -1 }, 'width must be a number > 0, got -1'],
    [{ flow: 'a', priority: 3 }, 'priority must be an integer from -2 to 2, got 3'],
    [{ flow: 'a', band: 1 }, 'band must be an integer from 0 to 0, got 1'],
    [{ flow: 'a', deadlineMs: Number.NaN }, 'deadlineMs must be'],
  ])('a request %o is refused by name', (request, message) => {
    const queue = make({})()
    expect(() => queue.enter(request)).toThrow(message)
    expect(queue.snapshot().came).toBe(0)
  })
})
