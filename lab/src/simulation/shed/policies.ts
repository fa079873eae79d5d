import type { LoadSignal, Random, SignalHost, SignalKind } from '@fairlead/core'
import { type Curve, LoadShedder, logistic, step } from '@fairlead/core'
import type { ManualClock } from '@fairlead/core/testing'
import { CollectedHeap, type Memory } from './memory.js'

type MakeShedder = (memory: Memory, clock: ManualClock, random: Random) => LoadShedder | undefined

/** The range of the memory signal. */
export const RANGE = { from: 0.75, to: 0.95 } as const

/** No shedding at all. */
export const none: MakeShedder = () => undefined

/** Shedding by the meter, every `sampleEveryMs`; `sampled` is the bare curve, `reserved` the whole rule. */
export function byMeter(
  sampleEveryMs: number,
  kind: SignalKind = 'reserved',
  curve: Curve = logistic(RANGE),
): MakeShedder {
  return (memory, clock, random) => {
    const signal: LoadSignal = {
      name: 'memory',
      limit: 1,
      relief: true,
      kind,
      curve,
      read: (now) => memory.reading(now),
    }
    return new LoadShedder({ signal, sampleEveryMs, clock, random })
  }
}

/**
 * Knows the held memory at each moment, but no sizes in advance: all requests are admitted below `most`, none above.
 */
export function byWhatIsHeld(most: number): MakeShedder {
  const curve = step({ from: most, to: most + Number.EPSILON })
  return (memory, clock, random) => {
    const signal: LoadSignal = { name: 'memory', kind: 'live', curve, read: (now) => memory.reading(now) }
    return new LoadShedder({ signal, trickleMs: Number.MAX_VALUE, clock, random })
  }
}

/** Shedding by the live size at the end of a major collection, and never by more than the used size. */
export function byLiveHeap(sampleEveryMs: number): MakeShedder {
  return (memory, clock, random) => {
    const signal: LoadSignal = {
      name: 'heap',
      limit: 1,
      curve: logistic(RANGE),
      read: (nowMs) => memory.reading(nowMs),
      attach(host: SignalHost): void {
        if (memory instanceof CollectedHeap) memory.onCollected = (live) => host.push(live)
      },
    }
    return new LoadShedder({ signal, sampleEveryMs, clock, random })
  }
}
