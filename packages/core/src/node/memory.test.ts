import { afterEach, describe, expect, it, vi } from 'vitest'
import { LoadShedder, logistic } from '../shed/index.js'
import * as trees from './fixtures/cgroups.js'
import { GIB, MIB, type Tree } from './fixtures/cgroups.js'
import { defaultSignals, type Machine, memorySignal } from './index.js'

function machine(tree: Tree, more: Partial<Machine> = {}): Machine {
  return {
    readFile: (path) => tree[path],
    physicalBytes: () => 16 * GIB,
    constrainedBytes: () => 2 ** 64,
    residentBytes: () => 2 * GIB,
    engineBytes: () => GIB,
    ...more,
  }
}

/** What is left of a limit beside the garbage of buffers. */
const room = (limit: number): number => limit - Math.min(64 * MIB, 0.1 * limit)

describe('memorySignal', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.each<[string, Tree, number]>([
    ['the container', trees.v2, (256 * MIB) / room(512 * MIB)],
    ['the fullest group, not the tightest', trees.v2Nested, (896 * MIB) / room(1024 * MIB)],
    ['what slows the group down', trees.v2High, (256 * MIB) / room(400 * MIB)],
    ['the container under v1', trees.v1, (512 * MIB) / room(1024 * MIB)],
    ['the fullest group under v1', trees.hybrid, (1536 * MIB) / room(2048 * MIB)],
    ['the machine where no group is limited', trees.v2Unlimited, 4 / 16],
    ['the machine where v1 says unlimited', trees.v1Unlimited, 4 / 16],
    ['this process where nothing else is known', trees.none, (2 * GIB) / room(16 * GIB)],
  ])('is the share of the memory of %s', (_, tree, share) => {
    expect(memorySignal({ machine: machine(tree) }).read(0)).toBeCloseTo(share, 12)
  })

  it('goes by the limit of the runtime where no group shows one, unless that is 2^64 or 0', () => {
    for (const [constrained, limit] of [
      [4 * GIB, 4 * GIB],
      [2 ** 64, 16 * GIB],
      [0, 16 * GIB],
      [undefined, 16 * GIB],
    ] as const) {
      const signal = memorySignal({ machine: machine(trees.none, { constrainedBytes: () => constrained }) })
      expect(signal.read(0)).toBeCloseTo((2 * GIB) / room(limit), 12)
    }
  })

  it('hears of a changed limit within ten seconds', () => {
    const tree: Record<string, string> = { ...trees.v2 }
    const signal = memorySignal({ machine: machine(tree) })
    expect(signal.read(0)).toBeCloseTo((256 * MIB) / room(512 * MIB), 12)
    tree['/sys/fs/cgroup/memory.max'] = `${1024 * MIB}\n`
    expect(signal.read(9_999)).toBeCloseTo((256 * MIB) / room(512 * MIB), 12)
    expect(signal.read(10_000)).toBeCloseTo((256 * MIB) / room(1024 * MIB), 12)
  })

  it('asks for the limits no more often than that', () => {
    const physicalBytes = vi.fn(() => 16 * GIB)
    const constrainedBytes = vi.fn(() => 4 * GIB)
    const signal = memorySignal({ machine: machine(trees.none, { physicalBytes, constrainedBytes }) })
    for (let nowMs = 0; nowMs < 10_000; nowMs += 100)
      expect(signal.read(nowMs)).toBeCloseTo((2 * GIB) / room(4 * GIB), 12)
    expect(physicalBytes).toHaveBeenCalledTimes(1)
    expect(constrainedBytes).toHaveBeenCalledTimes(1)
  })

  it('does not count what the allocator keeps of buffers that V8 freed', () => {
    let [engine, resident] = [300 * MIB, 500 * MIB]
    const process = machine(trees.none, { engineBytes: () => engine, residentBytes: () => resident })
    const signal = memorySignal({ limitBytes: GIB, machine: process })
    const usedMb = (nowMs: number) => Math.round((signal.read(nowMs) * room(GIB)) / MIB)
    expect(usedMb(0)).toBe(500)
    // Freed, and still resident; then given back in part; then used again; then more than was kept.
    engine = 100 * MIB
    expect(usedMb(100)).toBe(300)
    resident = 450 * MIB
    expect(usedMb(200)).toBe(300)
    engine = 200 * MIB
    expect(usedMb(300)).toBe(400)
    engine = 300 * MIB
    resident = 500 * MIB
    expect(usedMb(400)).toBe(500)
  })

  it('counts what the engine does not know of, and trusts what is kept less when memory grows beside it', () => {
    let [engine, resident] = [300 * MIB, 500 * MIB]
    const process = machine(trees.none, { engineBytes: () => engine, residentBytes: () => resident })
    const signal = memorySignal({ limitBytes: GIB, machine: process })
    const usedMb = (nowMs: number) => Math.round((signal.read(nowMs) * room(GIB)) / MIB)
    usedMb(0)
    engine = 100 * MIB
    expect(usedMb(100)).toBe(300)
    resident = 520 * MIB
    expect(usedMb(200)).toBe(520 - (200 - 4 * 20))
    resident = 600 * MIB
    expect(usedMb(300)).toBe(600)
  })

  it('leaves out a group that cannot be read, and is a bad sample when none can', () => {
    const own = '/sys/fs/cgroup/system.slice/tenants.slice/api.service/memory.current'
    const above = '/sys/fs/cgroup/system.slice/tenants.slice/memory.current'
    const signal = memorySignal({ machine: machine({ ...trees.v2Nested, [above]: '' }) })
    expect(signal.read(0)).toBeCloseTo((240 * MIB) / room(2048 * MIB), 12)
    expect(memorySignal({ machine: machine({ ...trees.v2Nested, [above]: '', [own]: '' }) }).read(0)).toBeNaN()
  })

  it('goes by a limit of your own', () => {
    expect(memorySignal({ limitBytes: 4 * GIB, machine: machine(trees.v2) }).read(0)).toBeCloseTo(
      (2 * GIB) / room(4 * GIB),
      12,
    )
  })

  it.each<[string, { limitBytes?: number; machine: Machine }, RegExp]>([
    ['above the physical memory', { limitBytes: 17 * GIB, machine: machine(trees.v2) }, /above the physical memory/],
    ['missing', { machine: machine(trees.none, { physicalBytes: () => 0 }) }, /no memory limit was found/],
  ])('refuses nobody, and says so once, if the limit is %s', (_, options, problem) => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const signal = memorySignal(options)
    const shedder = new LoadShedder({ signal, random: () => 0 })
    for (let i = 0; i < 3; i++) {
      signal.read(i)
      expect(shedder.tryAdmit().admitted).toBe(true)
    }
    expect(shedder.snapshot().signals[0]).toMatchObject({ problem: expect.stringMatching(problem), probability: 0 })
    expect(warn).toHaveBeenCalledTimes(1)
  })

  it('sheds from three quarters of the limit on, or by the given curve', () => {
    expect(memorySignal().curve).toMatchObject({ from: 0.75, to: 0.95 })
    const curve = logistic({ from: 0.5, to: 0.6 })
    expect(memorySignal({ curve }).curve).toBe(curve)
  })

  it('names a bad option', () => {
    expect(() => memorySignal({ limitBytes: 0 })).toThrow('limitBytes must be a number > 0, got 0')
    const wrong: object = { limit: 1 }
    expect(() => memorySignal(wrong)).toThrow('memorySignal has no option "limit"')
  })

  it('reads a share of this very machine', () => {
    const share = memorySignal().read(0)
    expect(share).toBeGreaterThan(0)
    expect(share).toBeLessThanOrEqual(1)
  })
})

describe('defaultSignals', () => {
  it('are memory, heap and event-loop delay, new ones each time', () => {
    expect(defaultSignals().map(({ name }) => name)).toEqual(['memory', 'heap', 'event-loop-delay'])
    expect(defaultSignals()[1]).not.toBe(defaultSignals()[1])
  })
})
