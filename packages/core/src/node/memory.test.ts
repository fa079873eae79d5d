import { afterEach, describe, expect, it, vi } from 'vitest'
import { logistic } from '../shed/curve.js'
import { LoadShedder } from '../shed/load-shedder.js'
import { manualClock } from '../testing/manual-clock.js'
import * as trees from './fixtures/cgroups.js'
import { GIB, MIB, type Tree } from './fixtures/cgroups.js'
import { defaultSignals, type Machine, type MemoryUsage, memorySignal } from './index.js'

/** The memory usage of a process with this resident set, of which the engine reports `inUse`. */
function usage(rss: number, inUse = 0): MemoryUsage {
  return { rss, heapTotal: 0, heapUsed: 0, arrayBuffers: inUse }
}

function machine(tree: Tree, more: Partial<Machine> = {}): Machine {
  return {
    readFile: (path) => tree[path],
    physicalBytes: () => 16 * GIB,
    constrainedBytes: () => 2 ** 64,
    memoryUsage: () => usage(2 * GIB),
    collect: () => {},
    watch: () => () => {},
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

  it('has garbage collected before anybody is refused, and seldom where that frees little and costs much', () => {
    const state = { used: 0.5, objects: 0 }
    const collect = vi.fn()
    const memoryUsage = (): MemoryUsage => ({ ...usage(state.used * 16 * GIB), heapUsed: state.objects })
    const signal = memorySignal({ machine: machine(trees.none, { memoryUsage, collect }) })
    const asked = (fromMs: number, untilMs: number): number => {
      collect.mockClear()
      for (let nowMs = fromMs; nowMs < untilMs; nowMs += 50) signal.read(nowMs)
      return collect.mock.calls.length
    }
    expect(asked(0, 10_000)).toBe(0)
    state.used = 0.65
    expect(asked(10_000, 10_050)).toBe(1)
    // Nothing is freed: with few objects a collection is quick; a heap of 400 MB is collected every 4 s.
    expect(asked(10_050, 20_050)).toBe(40)
    state.objects = 400 * MIB
    expect(asked(20_050, 60_050)).toBeLessThanOrEqual(11)
    // The collection frees memory that is soon in use again: four times a second.
    collect.mockClear()
    for (let nowMs = 64_000; nowMs < 84_000; nowMs += 125) {
      state.used = nowMs % 250 === 0 ? 0.9 : 0.5
      signal.read(nowMs)
    }
    expect(collect.mock.calls.length).toBeGreaterThan(40)
  })

  it('hands on what is left when a collection ends, while decisions come', () => {
    const clock = manualClock()
    const state = { rss: 8 * GIB, ended: () => {}, watchers: 0 }
    const watch = (ended: () => void): (() => void) => {
      state.ended = ended
      state.watchers++
      return () => state.watchers--
    }
    const signal = memorySignal({ machine: machine(trees.none, { memoryUsage: () => usage(state.rss), watch }) })
    const shedder = new LoadShedder({ signal, clock, random: () => 0 })
    expect(state.watchers).toBe(0)
    shedder.tryAdmit()
    state.rss = 6 * GIB
    clock.advance(1)
    state.ended()
    shedder.tryAdmit()
    expect(shedder.snapshot().signals[0]).toMatchObject({ observed: 6 / 16 })
    shedder.close()
    expect(state.watchers).toBe(0)
  })

  it('takes no second reading in a turn of the loop, which would not show what the turn has let in', () => {
    const clock = manualClock()
    let turn = (): void => {}
    const memoryUsage = vi.fn(() => usage(8 * GIB))
    const afterTurn = (turned: () => void): void => {
      turn = turned
    }
    const signal = memorySignal({ machine: machine(trees.none, { memoryUsage, afterTurn }) })
    const shedder = new LoadShedder({ signal, clock, random: () => 0.999_999 })
    const decide = (): number => {
      shedder.tryAdmit()
      clock.advance(1_000)
      return memoryUsage.mock.calls.length
    }
    expect([decide(), decide(), decide()]).toEqual([1, 1, 1])
    turn()
    expect([decide(), decide()]).toEqual([2, 2])
    turn()
    expect(decide()).toBe(3)
  })

  it('lets in no more at once than fits by what requests held before, although no reading shows them yet', () => {
    const clock = manualClock()
    const state = { held: 0, running: 0, ended: () => {} }
    const watch = (ended: () => void): (() => void) => {
      state.ended = ended
      return () => {}
    }
    const signal = memorySignal({
      limitBytes: 4 * GIB,
      machine: machine(trees.none, { memoryUsage: () => usage((0.1 + 0.02 * state.held) * 4 * GIB), watch }),
    })
    const shedder = new LoadShedder({ signal, clock, random: () => 0 })
    const admit = (): boolean => {
      const permit = shedder.tryAdmit()
      if (permit.admitted) state.running++
      return permit.admitted
    }
    for (let i = 0; i < 20; i++) {
      admit()
      state.held = state.running
      clock.advance(100)
      state.ended()
    }
    // A burst: each request waits before it takes its memory, while readings go on.
    for (let i = 0; i < 200; i++) {
      admit()
      clock.advance(100)
    }
    expect(state.running).toBeGreaterThan(30)
    // Apart from the trickle that is always admitted, no request exceeded the limit.
    expect(0.1 + 0.02 * (state.running - shedder.snapshot().trickled)).toBeLessThan(0.95)
  })

  it('serves one shedder at a time', () => {
    const signal = memorySignal({ machine: machine(trees.none) })
    const shedder = new LoadShedder({ signal })
    expect(() => new LoadShedder({ signal })).toThrow('a memorySignal serves one shedder; make one for each')
    shedder.close()
    expect(() => new LoadShedder({ signal })).not.toThrow()
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
  ])('refuses nothing, and says so once, if the limit is %s', (_, options, problem) => {
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

  describe('where freed memory stays with the allocator', () => {
    /** Buffers come and go in a process with 1/16 of the limit; `resident` is the resident set that results. */
    function bench() {
      const state = { rss: GIB, inUse: 0 }
      const signal = memorySignal({
        machine: machine(trees.none, { memoryUsage: () => usage(state.rss, state.inUse) }),
      })
      let nowMs = 0
      const read = (rssGib: number, inUseGib: number): number => {
        state.rss = rssGib * GIB
        state.inUse = inUseGib * GIB
        nowMs += 100
        return 16 * signal.read(nowMs)
      }
      return { read }
    }

    it('believes that it is used again as far as it was seen to be', () => {
      const { read } = bench()
      read(1, 0)
      expect(read(14, 13)).toBeCloseTo(14, 9)
      // No reuse of it has been observed.
      expect(read(14, 3)).toBeCloseTo(14, 9)
      expect(read(14, 8)).toBeLessThan(12)
      for (let i = 0; i < 5; i++) {
        read(14, 3)
        read(14, 12)
      }
      // A tenth of the kept memory still counts.
      expect(read(14, 3)).toBeCloseTo(4 + 0.1 * 10, 1)
      expect(read(14, 13)).toBeCloseTo(14, 1)
    })

    it('does not where what is allocated makes the process larger all the same', () => {
      const { read } = bench()
      read(1, 0)
      read(10, 9)
      read(10, 2)
      read(10, 8)
      expect(read(10, 2)).toBeLessThan(6)
      read(13, 5)
      expect(read(13, 2)).toBeGreaterThan(11)
    })

    it('takes nothing for freed that the engine did not free', () => {
      const { read } = bench()
      read(1, 0)
      read(8, 7)
      for (let i = 0; i < 5; i++) {
        read(8, 3)
        read(8, 7)
      }
      // 5 GiB of a library, with unchanged use by the engine.
      expect(read(13, 7)).toBeCloseTo(13, 9)
    })

    it('does not trust it near the limit, where little is left for what is not used again', () => {
      const { read } = bench()
      read(1, 0)
      read(15.6, 14.6)
      for (let i = 0; i < 5; i++) {
        read(15.6, 3)
        read(15.6, 14)
      }
      expect(read(15.6, 3)).toBeGreaterThan(15)
      expect(read(15.8, 3)).toBeCloseTo(15.8, 9)
    })
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
