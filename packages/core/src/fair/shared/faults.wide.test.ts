import { describe, expect, it } from 'vitest'
import type { Fleet, FleetSettings } from './fixtures/fleet.js'
import { means, NOISY, noisy, SETTLED } from './fixtures/noisy.js'

describe('when something fails', () => {
  type Each = NonNullable<FleetSettings['each']>
  /** Ten seconds after the last fault of most. */
  const END = 60
  const members = (fleet: Fleet) => fleet.processes.map(({ tracker }) => tracker.snapshot().sharing?.members)
  /** A fleet that shares, which must not be worse by `most` than one that does not, from second 20 to `to`. */
  const notWorse = (each: Each, to: number, most = 0.02): Fleet => {
    const seconds = Math.max(to, END)
    const { first, mean, failed } = means({ each, seconds }, 20, to)
    const alone = means({ each, seconds, shared: false }, 20, to)
    expect(mean).toBeGreaterThan(alone.mean - most)
    expect(failed).toBeLessThan(alone.failed + most)
    return first
  }

  it('an arbiter that is away for twenty seconds leaves each process on its own, with its part', () => {
    const during: { sharing: unknown; capacityPerSecond: number | null }[] = []
    const fleet = notWorse(
      (second, { processes }) => {
        for (const process of processes) process.isReached = second < 20 || second >= 40
        if (second === 30) during.push(...processes.slice(0, 4).map(({ tracker }) => tracker.snapshot()))
      },
      40,
      // Of many runs both differences are .05; of three runs they are .02 to .08, by chance.
      0.07,
    )
    for (const { sharing, capacityPerSecond } of during.slice(0, 4)) {
      expect(sharing).toBeNull()
      expect(capacityPerSecond).toBeLessThan(50)
    }
    expect(members(fleet)).toEqual([4, 4, 4, 4])
  })

  it('another arbiter goes on from what the processes believe', () => {
    const fleet = notWorse((second, each) => {
      if (second === 30) each.replaceArbiter()
    }, END)
    expect(members(fleet)).toEqual([4, 4, 4, 4])
  })

  it('another arbiter trusts the proof of the one before', () => {
    const each: Each = (second, fleet) => {
      if (second === 30) fleet.replaceArbiter()
    }
    const { mean, failed } = means({ each, seconds: 38 }, 30, 38)
    expect(mean).toBeGreaterThan(0.95)
    expect(failed).toBeLessThan(0.05)
  })

  it('processes that have run for long trust the proof of the arbiter that is away', () => {
    const each: Each = (second, { processes }) => {
      for (const process of processes) process.isReached = second < 20
    }
    const { mean, failed } = means({ each, upMs: 3_600_000, seconds: 28 }, 21, 28)
    expect(mean).toBeGreaterThan(0.89)
    expect(failed).toBeLessThan(0.1)
  })

  it('another arbiter lets new flows in as soon as the one before', () => {
    const known: boolean[] = []
    noisy({
      seconds: 40,
      each(second, fleet) {
        if (second === 28) fleet.replaceArbiter()
        // A new flow, once a second: the time until which new flows have had their share moves with that of all.
        if (second >= SETTLED) known.push(fleet.processes[second % 4]!.tracker.register(`stranger-${second}`))
      },
    })
    expect(known.slice(-8).filter(Boolean).length).toBeGreaterThan(4)
  })

  it('processes of another version are on their own, as are those of an arbiter of another version', () => {
    const fleet = noisy({ seconds: 30, speaks: (text, process) => (process < 2 ? `&${text.slice(1)}` : text) })
    expect(members(fleet)).toEqual([undefined, undefined, 2, 2])
    const others = noisy({ seconds: 30, speaks: (text) => `(${text.slice(1)}` })
    expect(members(others)).toEqual([undefined, undefined, undefined, undefined])
    expect(others.quiet(SETTLED, 30)).toEqual(noisy({ seconds: 30, shared: false }).quiet(SETTLED, 30))
  })

  it('processes of two versions in a rolling deploy are no worse than each on its own, and share in the end', () => {
    let old = new Set<number>()
    const fleet = notWorse((second, each) => {
      if (second === 0) {
        old = new Set([0, 1, 2, 3])
        each.settings.speaks = (text, process) => (old.has(process) ? `&${text.slice(1)}` : text)
      }
      if (second < 20 || second % 8 !== 0 || second > 48) return
      old.delete((second / 8) % 4)
      each.restart((second / 8) % 4)
    }, 60)
    expect(members(fleet)).toEqual([4, 4, 4, 4])
  })

  it('processes that are replaced one after the other are joined by their successors', () => {
    const fleet = notWorse((second, each) => {
      if (second >= 20 && second % 8 === 0) each.restart((second / 8) % 4)
    }, 60)
    expect(members(fleet)).toEqual([4, 4, 4, 4])
  })

  it('a successor joins within two seconds, although nothing fails for it: others leave it room', () => {
    const fleet = noisy({
      seconds: 22,
      each(second, fleet) {
        if (second !== 20) return
        fleet.restart(0)
        fleet.settings.spared = 0
      },
    })
    expect(members(fleet)).toEqual([4, 4, 4, 4])
  })

  it('a process that stops for ten seconds is done without, and comes back', () => {
    const during: unknown[] = []
    const fleet = notWorse((second, { processes }) => {
      processes[1]!.isStopped = second >= 20 && second < 30
      if (second === 25) during.push(processes[0]!.tracker.snapshot().sharing?.members)
    }, END)
    // Of the first fleet that shares.
    expect(during[0]).toBe(3)
    expect(members(fleet)).toEqual([4, 4, 4, 4])
  })

  it('a process that is cut off is on its own, and the others give way to it within two seconds', () => {
    const each: Each = (second, { processes }) => {
      processes[2]!.isReached = second < 20
    }
    for (const seconds of [30, 60]) {
      const fleet = means({ each, seconds }, 22, seconds)
      const alone = means({ each, seconds, shared: false }, 22, seconds)
      expect(fleet.mean).toBeGreaterThan(alone.mean - 0.01)
      expect(fleet.failed).toBeLessThan(alone.failed + 0.01)
      expect(members(fleet.first)).toEqual([3, 3, undefined, 3])
    }
  })

  it('processes that had nothing to do when their lease ended serve as much as the others when they have', () => {
    const served = [0, 0, 0, 0]
    noisy({
      seconds: 50,
      each(second, { processes, settings }) {
        settings.routing = second < 20 || second >= 35 ? 'any' : 'to the first'
        for (const process of processes) process.isReached = second < 35
      },
      served: (process, second) => {
        if (second >= 40) served[process]!++
      },
    })
    const all = served.reduce((sum, each) => sum + each)
    expect(all).toBeGreaterThan(0.95 * 10 * NOISY.capacity)
    for (const each of served) expect(each).toBeGreaterThan((0.75 * all) / NOISY.processes)
  })

  it('a clock that is shared again and again, by processes with little to do, keeps its fair rate', () => {
    const rates: number[] = []
    noisy({
      crowds: [[5, 0.2]],
      burst: 1,
      processes: 2,
      routing: 'skewed',
      seconds: 900,
      each(second, { processes, settings }) {
        // Trouble for some seconds, each minute: the processes share, and separate again.
        settings.capacity = second % 60 < 10 ? 0.1 : 10
        if (second > 300) rates.push(...processes.map(({ tracker }) => tracker.snapshot().fairRatePerSecond))
      },
    })
    expect(Math.min(...rates)).toBeGreaterThan(0.02)
  })

  it('a resource that loses a seventh of its capacity is recognised within forty seconds', () => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const fleet = noisy({
        seed,
        burst: 20,
        seconds: 120,
        each(second, { settings }) {
          if (second === 40) settings.capacity = 85
        },
      })
      expect(fleet.failedShare(80, 120)).toBeLessThan(0.1)
      expect(fleet.quiet(80, 120).mean).toBeGreaterThan(0.93)
    }
  })

  it('the part of a process that has gone is not given up', () => {
    const fleet = noisy({
      seconds: 30,
      each(second, { processes }) {
        processes[1]!.isStopped = second >= 20
      },
    })
    expect(fleet.total('served', 20, 30)).toBeGreaterThan(0.95 * 10 * NOISY.capacity)
  })
})
