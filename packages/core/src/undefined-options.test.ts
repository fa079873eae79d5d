import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createGate, type GateOptions } from './create-gate.js'
import { type EscrowOptions, escrow } from './escrow/index.js'
import { type FairLimitOptions, fairLimit, type QueueOptions, requestQueue } from './queue/index.js'
import { type QuotaOptions, quota } from './quota/index.js'
import { loadShedder } from './shed/load-shedder.js'
import type { ShedOptions } from './shed/signal.js'
import { seededRandom } from './testing/seeded-random.js'
import { World } from './testing/world.js'

/** Options that are neither all missing nor all given, with the part of the gate that they configure. */
interface Kind {
  readonly make: (options: Record<string, unknown>) => GateOptions
  readonly needed: Record<string, unknown>
}

const kinds: Record<string, Kind> = {
  gate: { make: (options) => options, needed: {} },
  fair: { make: (options) => ({ fair: options }), needed: {} },
  shed: {
    make: (options) => ({ shed: loadShedder(options as unknown as ShedOptions) }),
    needed: { signal: () => 1, from: 2, to: 3 },
  },
  quota: {
    make: (options) => ({ quota: quota(options as unknown as QuotaOptions<[]>) }),
    needed: { limit: 9, windowMs: 60_000 },
  },
  budget: {
    make: (options) => ({ budget: escrow(options as unknown as EscrowOptions) }),
    needed: { limit: 100, windowMs: 60_000 },
  },
  queue: {
    make: (options) => ({ queue: requestQueue(options as unknown as QueueOptions) }),
    needed: { concurrency: 1 },
  },
}

/** The names of all options, from the error message about an unknown one. */
function namesOf(make: (options: Record<string, unknown>) => unknown): string[] {
  try {
    make({ 'no such option': 1 })
  } catch (error) {
    return String(error).split('it knows ')[1]!.split(', ')
  }
  throw new Error('it took an option that does not exist')
}

/** All that can be observed of a gate in use. */
function seenOf(options: GateOptions, joined: string[]): unknown {
  const gate = createGate(options)
  for (const flow of ['gold', 'gold', 'tin', 'tin']) {
    const decision = gate.admit({ flow })
    if (!(decision instanceof Promise) && decision.admitted && flow === 'tin') decision.finish('failure')
  }
  return JSON.parse(JSON.stringify([joined, gate.name, gate.explain('gold'), gate.explain('tin'), gate.snapshot()]))
}

/** Options of a gate that has a name, a fleet and weights. */
function gateOptions(joined: string[]): GateOptions {
  const { clock, after } = new World()
  const join = (name: string) => {
    joined.push(name)
    return () => {}
  }
  const weightOf = (flow: string): number => (flow === 'gold' ? 4 : 1)
  const random = seededRandom(1)
  return { name: 'orders', fleet: { join }, weightOf, queue: requestQueue({ concurrency: 1 }), random, clock, after }
}

// The platform's clock stands still.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

describe.each(Object.entries(kinds))('an option of %s that is undefined', (kind, { make, needed }) => {
  const names = namesOf((options) => createGate(make(options)))
  it.each(names.filter((name) => !(name in needed)))('has its default: %s', (name) => {
    const seen = (given: Record<string, unknown>): unknown => {
      const joined: string[] = []
      const options = gateOptions(joined)
      if (kind === 'gate') delete options[name as keyof GateOptions]
      return seenOf({ ...options, ...make({ ...needed, ...given }) }, joined)
    }
    expect(seen({ [name]: undefined })).toEqual(seen({}))
  })
})

describe('an option of fairLimit that is undefined', () => {
  const make = (options: Record<string, unknown>) =>
    fairLimit({ concurrency: 1, ...options } as unknown as FairLimitOptions)
  it.each(namesOf(make).filter((name) => name !== 'concurrency'))('has its default: %s', (name) => {
    const seen = (given: Record<string, unknown>): unknown => {
      const world = new World()
      const seams = { clock: world.clock, after: world.after }
      if (name in seams) delete seams[name as keyof typeof seams]
      const limit = make({ ...seams, ...given })
      for (let i = 0; i < 4_000; i++)
        limit('a', () => new Promise(() => {}), { priority: i % 9 ? 0 : 1 }).catch(() => {})
      world.advance(60_000)
      return limit.snapshot()
    }
    expect(seen({ [name]: undefined })).toEqual(seen({}))
  })
})
