import { describe, expect, it } from 'vitest'
import type { Capacity } from '../capacity/index.js'
import { createGate, type GateOptions } from '../create-gate.js'
import type { ClockLink } from '../fair/shared/report.js'
import { fairHandler } from '../node/index.js'
import { requestQueue } from '../queue/request-queue.js'
import { loadShedder } from '../shed/load-shedder.js'
import { admitNow, gateOf, permitOf, recorder } from './fixtures/gates.js'
import { Overrides } from './overrides.js'
import type { Stage } from './stage.js'

describe('misuse', () => {
  it.each<[Record<string, unknown>, string]>([
    [{}, 'flow must be a non-empty string or a path of them, got undefined'],
    [{ flow: '' }, 'flow must be a non-empty string, got ""'],
    [{ flow: 7 }, 'flow must be a non-empty string or a path of them, got 7'],
    [{ flow: 'a', cost: Number.NaN }, 'cost must be a number > 0, got NaN'],
    [{ flow: 'a', cost: 0 }, 'cost must be a number > 0, got 0'],
    [{ flow: 'a', cost: -1 }, 'cost must be a number > 0, got -1'],
    [{ flow: 'a', cost: '1' }, 'cost must be a number > 0, got "1"'],
    [{ flow: 'a', cost: Number.POSITIVE_INFINITY }, 'cost must be a number > 0, got Infinity'],
    [{ flow: 'a', signal: null }, 'signal must be an AbortSignal, got null'],
    [{ flow: 'a', signal: 5 }, 'signal must be an AbortSignal, got 5'],
    [{ flow: 'a', signal: {} }, 'signal must be an AbortSignal, got an object'],
    [{ flow: 'a', priority: 3 }, 'priority must be an integer from -2 to 2, got 3'],
    [{ flow: 'a', priority: 0.5 }, 'priority must be an integer from -2 to 2, got 0.5'],
    [{ flow: 'a', exempt: 'false' }, 'exempt must be true or false, got "false"'],
    [{ flow: 'a', exempt: Promise.resolve(false) }, 'exempt must be true or false, got a promise'],
  ])('is thrown before anything is counted: %j', (ask, message) => {
    const one = recorder('one')
    const gate = gateOf([one.stage])
    expect(() => gate.admit(ask as { flow: string })).toThrow(message)
    expect(one.heard).toEqual([])
    expect(gate.snapshot()).toMatchObject({ admitted: 0, refused: 0 })
  })

  it.each([null, undefined])('of admit without a request is told: %s', (ask) => {
    expect(() => gateOf([]).admit(ask as never)).toThrow(
      'flow must be a non-empty string or a path of them, got undefined',
    )
  })

  it('of finish does not count as one', () => {
    const { stage, heard } = recorder('one')
    const permit = permitOf(admitNow(gateOf([stage])))
    expect(() => permit.finish('ok' as 'success')).toThrow('outcome must be one of')
    expect(() => permit.finish('success', { cost: Number.NaN })).toThrow('cost must be a number >= 0, got NaN')
    permit.finish('success')
    expect(heard).toEqual(['admit', 'finish success 1'])
  })

  it.each<[unknown, string]>([
    [{ fare: {} }, 'gate has no option "fare"'],
    [{ fair: true }, 'fair must be an object, got true'],
    [{ name: 'orders', fair: [] }, 'fair must be an object, got an array'],
    [{ fair: { clock: () => 0 } }, 'fair has no option "clock"'],
    [{ shed: true }, 'shed must be made by loadShedder(), got true'],
    [{ shed: { signal: () => 0 } }, 'shed must be made by loadShedder(), got an object'],
    [{ shed: loadShedder({}) }, 'shed needs either signal or signals'],
    [{ stages: {} }, 'stages must be an array, got an object'],
    [{ stages: [null] }, 'stages must be an array of stages, got null'],
    [{ stages: [{ name: '', admit: () => undefined }] }, 'stage.name must be a non-empty string'],
    [{ stages: [{ name: 'x' }] }, 'stage x: admit must be a function, got undefined'],
    [{ stages: [{ name: 'x', admit: () => undefined, onError: 'ignore' }] }, 'stage x: onError must be one of'],
    [{ stages: [{ name: 'x', admit: () => undefined, deadlineMs: 0 }] }, 'stage x: deadlineMs must be a number > 0'],
    [{ stages: [{ name: 'fair', admit: () => undefined }] }, 'stages must be of distinct names, got "fair"'],
    [
      { queue: requestQueue({ concurrency: 1 }), stages: [{ name: 'queue', admit: () => undefined }] },
      'stages must be of distinct names',
    ],
    [{ queue: { concurrency: 4 } }, 'queue must be made by requestQueue(), got an object'],
    [{ queue: [] }, 'queue must be made by requestQueue(), got an array'],
    [{ doorman: null }, 'doorman must be made by lease(), got null'],
    [{ budget: { limit: 1, windowMs: 1 } }, 'budget must be made by escrow(), got an object'],
    [{ budget: requestQueue({ concurrency: 1 }) }, 'budget must be made by escrow(), got an object'],
    [{ overrides: {} }, 'overrides must be made by new Overrides(), got an object'],
    [{ clock: 1 }, 'clock must be a function, got 1'],
    [{ random: 1 }, 'random must be a function, got 1'],
    [{ after: 1 }, 'after must be a function, got 1'],
    [null, 'gate must be an object, got null'],
  ])('of createGate names the option: %j', (options, message) => {
    expect(() => createGate(options as GateOptions)).toThrow(message)
  })
})

/** A capacity of one slot that counts its listeners. */
function heardBy(): { capacity: Capacity; listeners: () => number } {
  let listeners = 0
  const capacity: Capacity = {
    limit: 1,
    inFlight: 0,
    maximum: 1,
    tryTake: () => true,
    release: () => {},
    undo: () => {},
    onAvailable: () => {
      listeners++
      return () => void listeners--
    },
    snapshot: () => null,
  }
  return { capacity, listeners: () => listeners }
}

describe('a gate that cannot be made', () => {
  it('joins no fleet', () => {
    const joined: string[] = []
    const fleet: ClockLink = {
      join(name) {
        joined.push(name)
        return () => {}
      },
    }
    const overrides = new Overrides()
    createGate({ fair: false, overrides, nameSecret: 'one' })
    expect(() => createGate({ fleet, queue: requestQueue({ concurrency: -1 }) })).toThrow('concurrency must be')
    expect(() => createGate({ fleet, overrides, nameSecret: 'another' })).toThrow('different nameSecrets')
    expect(() => fairHandler(() => {}, { fleet, ipv6Prefix: 0 })).toThrow('ipv6Prefix must be')
    expect(() => createGate({ name: 'orders', fleet, queue: { concurrency: 4 } as never })).toThrow(
      'queue must be made',
    )
    expect(() => createGate({ fleet, stages: [{ name: 'fair', admit: () => undefined }] })).toThrow('got "fair"')
    expect(() => createGate({ fleet, shed: loadShedder({}) })).toThrow('shed needs either')
    expect(joined).toEqual([])
  })

  it('leaves no listener on a capacity that others may share', () => {
    const { capacity, listeners } = heardBy()
    const queue = requestQueue({ concurrency: capacity })
    const twice: Stage = { name: 'twice', admit: () => undefined }
    expect(() => gateOf([twice, twice], { queue })).toThrow('distinct names')
    const broken: ClockLink = {
      join() {
        throw new Error('no such fleet')
      },
    }
    expect(() => createGate({ fleet: broken, queue })).toThrow('no such fleet')
    expect(listeners()).toBe(0)
    const gate = gateOf([twice], { queue })
    expect(listeners()).toBe(1)
    gate.close()
    expect(listeners()).toBe(0)
  })
})

describe('flows', () => {
  it('of any length are two if they are two, and are kept short', () => {
    const seen: string[] = []
    const gate = gateOf([{ name: 'one', admit: ({ flow }) => void seen.push(flow) }])
    const long = 'x'.repeat(1 << 20)
    for (const flow of [long, `${long}y`, 'x'.repeat(257), 'x'.repeat(256), '__proto__']) admitNow(gate, flow)
    expect(new Set(seen).size).toBe(5)
    for (const flow of seen) expect(flow.length).toBeLessThanOrEqual(256)
    expect(seen.slice(3)).toEqual(['x'.repeat(256), '__proto__'])
    admitNow(gate, long)
    expect(seen.at(-1)).toBe(seen[0])
  })

  it('of any length cannot be made to look like another by the same hash, and a short name that was shown is itself', () => {
    const seen: string[] = []
    const gate = gateOf([{ name: 'one', admit: ({ flow }) => void seen.push(flow) }])
    const head = 'x'.repeat(300)
    admitNow(gate, `${head}tenant-acme-production`)
    // A name with the same two-lane murmur3 hash under every seed.
    admitNow(gate, `${head}tena\u{cf63}\u{6164}\u{e70a}\u{413}c\u{5480}e-production`)
    expect(new Set(seen).size).toBe(2)
    admitNow(gate, seen[0]!)
    expect(seen[2]).toBe(seen[0])
  })

  it('that are long are not cut inside a pair of surrogates', () => {
    const seen: string[] = []
    const gate = gateOf([{ name: 'one', admit: ({ flow }) => void seen.push(flow) }])
    for (let before = 230; before < 245; before++) {
      const flow = `${'k'.repeat(before)}${'😀'.repeat(20)}`
      admitNow(gate, flow)
      const [name] = seen.splice(0) as [string]
      expect(name).not.toMatch(/\p{Surrogate}/u)
      expect(name.length).toBeGreaterThanOrEqual(255)
      expect(flow.startsWith(name.slice(0, name.lastIndexOf('~')))).toBe(true)
    }
    // A lone surrogate stays unchanged.
    admitNow(gate, `${'k'.repeat(238)}\ud83d${'k'.repeat(20)}`)
    expect(seen[0]).toMatch(/k\ud83d~[0-9a-f]{16}$/)
  })

  it('that are long are named by the secret: alike where it is the same, else not', () => {
    const nameOf = (nameSecret?: string): string => {
      const seen: string[] = []
      const stages: Stage[] = [{ name: 'one', admit: ({ flow }) => void seen.push(flow) }]
      admitNow(createGate({ fair: false, stages, ...(nameSecret !== undefined && { nameSecret }) }), 'x'.repeat(1_000))
      return seen[0]!
    }
    expect(nameOf('fleet')).toBe(nameOf('fleet'))
    expect(new Set([nameOf('fleet'), nameOf('other'), nameOf()]).size).toBe(3)
    expect(() => nameOf('')).toThrow('nameSecret must be a non-empty string, got ""')
  })
})
