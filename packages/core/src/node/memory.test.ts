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
    collect: () => {},
    ...more,
  }
}

describe('memorySignal', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.each<[string, Tree, number]>([
    ['the container', trees.v2, 256 / 512],
    ['the fullest group, not the tightest', trees.v2Nested, 896 / 1024],
    ['what slows the group down', trees.v2High, 256 / 400],
    ['the container under v1', trees.v1, 512 / 1024],
    ['the fullest group under v1', trees.hybrid, 1536 / 2048],
    ['the machine where no group is limited', trees.v2Unlimited, 4 / 16],
    ['the machine where v1 says unlimited', trees.v1Unlimited, 4 / 16],
    ['this process where nothing else is known', trees.none, 2 / 16],
  ])('is the share of the memory of %s', (_, tree, share) => {
    expect(memorySignal({ machine: machine(tree) }).read(0)).toBeCloseTo(share, 12)
  })

  it('goes by the limit of the runtime where no group shows one, unless that is 2^64 or 0', () => {
    for (const [constrained, share] of [
      [4 * GIB, 0.5],
      [2 ** 64, 0.125],
      [0, 0.125],
      [undefined, 0.125],
    ] as const) {
      const signal = memorySignal({ machine: machine(trees.none, { constrainedBytes: () => constrained }) })
      expect(signal.read(0)).toBeCloseTo(share, 12)
    }
  })

  it('has garbage collected before anybody is refused, and seldom where that frees little', () => {
    let used = 0.5
    const collect = vi.fn()
    const signal = memorySignal({ machine: machine(trees.none, { residentBytes: () => used * 16 * GIB, collect }) })
    const readUntil = (fromMs: number, untilMs: number): void => {
      for (let nowMs = fromMs; nowMs < untilMs; nowMs += 50) signal.read(nowMs)
    }
    readUntil(0, 10_000)
    expect(collect).not.toHaveBeenCalled()
    used = 0.65
    readUntil(10_000, 10_050)
    expect(collect).toHaveBeenCalledTimes(1)
    // Nothing is freed: 0.5, 1, 2, 4 and then 8 s apart.
    readUntil(10_050, 60_000)
    expect(collect.mock.calls.length).toBeGreaterThanOrEqual(6)
    expect(collect.mock.calls.length).toBeLessThanOrEqual(12)
    // What it frees now comes again at once: four times a second.
    collect.mockClear()
    for (let nowMs = 60_000; nowMs < 80_000; nowMs += 125) {
      used = nowMs % 250 === 0 ? 0.9 : 0.5
      signal.read(nowMs)
    }
    expect(collect.mock.calls.length).toBeGreaterThan(40)
  })

  it('hears of a changed limit within ten seconds', () => {
    const tree: Record<string, string> = { ...trees.v2 }
    const signal = memorySignal({ machine: machine(tree) })
    expect(signal.read(0)).toBe(0.5)
    tree['/sys/fs/cgroup/memory.max'] = `${1024 * MIB}\n`
    expect(signal.read(9_999)).toBe(0.5)
    expect(signal.read(10_000)).toBe(0.25)
  })

  it('asks for the limits no more often than that', () => {
    const physicalBytes = vi.fn(() => 16 * GIB)
    const constrainedBytes = vi.fn(() => 4 * GIB)
    const signal = memorySignal({ machine: machine(trees.none, { physicalBytes, constrainedBytes }) })
    for (let nowMs = 0; nowMs < 10_000; nowMs += 100) expect(signal.read(nowMs)).toBe(0.5)
    expect(physicalBytes).toHaveBeenCalledTimes(1)
    expect(constrainedBytes).toHaveBeenCalledTimes(1)
  })

  it('leaves out a group that cannot be read, and is a bad sample when none can', () => {
    const own = '/sys/fs/cgroup/system.slice/tenants.slice/api.service/memory.current'
    const above = '/sys/fs/cgroup/system.slice/tenants.slice/memory.current'
    const signal = memorySignal({ machine: machine({ ...trees.v2Nested, [above]: '' }) })
    expect(signal.read(0)).toBeCloseTo(240 / 2048, 12)
    expect(memorySignal({ machine: machine({ ...trees.v2Nested, [above]: '', [own]: '' }) }).read(0)).toBeNaN()
  })

  it('goes by a limit of your own', () => {
    expect(memorySignal({ limitBytes: 4 * GIB, machine: machine(trees.v2) }).read(0)).toBe(0.5)
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
