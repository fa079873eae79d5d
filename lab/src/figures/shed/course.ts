import { type Memory, type Scenario, simulate } from '../../simulation/shed/index.js'

/** Memory over time: the most in each quarter of a second, as a share of the limit. */
export interface MemoryCourse {
  readonly everyMs: number
  readonly outOfMemory: number
  /** Undefined while nothing happened, in particular while the process was down. */
  readonly most: readonly (number | undefined)[]
}

const EVERY_MS = 250

export function courseOf(scenario: Scenario): MemoryCourse {
  const endMs = scenario.demand.at(-1)?.untilMs ?? 0
  const most: (number | undefined)[] = Array.from({ length: Math.ceil(endMs / EVERY_MS) }, () => undefined)
  const note = (held: number, nowMs: number): void => {
    const at = Math.min(most.length - 1, Math.floor(nowMs / EVERY_MS))
    most[at] = Math.max(most[at] ?? 0, held)
  }
  const { outOfMemory } = simulate({ ...scenario, makeMemory: () => watched(scenario.makeMemory(), note) })
  return { everyMs: EVERY_MS, outOfMemory, most }
}

function watched(memory: Memory, note: (held: number, nowMs: number) => void): Memory {
  return {
    reading: (nowMs) => memory.reading(nowMs),
    take(size, nowMs) {
      const fits = memory.take(size, nowMs)
      note(memory.reading(nowMs), nowMs)
      return fits
    },
    give(size, nowMs) {
      memory.give(size, nowMs)
      note(memory.reading(nowMs), nowMs)
    },
  }
}
