import type { ServerResourceSummary } from '../server/index.js'
import { Largest } from '../server/snapshot.js'

/** The state of one resource at a moment. */
export interface Sample {
  readonly has: number
  readonly wants: number
  readonly waiting: number
  readonly capacity: number
}

/** Five minutes, with a sample every five seconds. */
export const SAMPLE_MS = 5_000
const SAMPLES = 60
/** Most resources in the history: those with the largest wants. */
const MOST_RESOURCES = 200

/** Wants, leases and waiting amounts of the last minutes, by resource. Bounded. */
export class History {
  #past = new Map<string, Sample[]>()

  /** Must be called every {@link SAMPLE_MS}. */
  look(resources: readonly ServerResourceSummary[]): void {
    const past = new Map<string, Sample[]>()
    for (const { id, sumHas, sumWants, sumWaiting, capacity } of mostWanted(resources, MOST_RESOURCES)) {
      const before = this.#past.get(id) ?? []
      past.set(id, [...before.slice(1 - SAMPLES), { has: sumHas, wants: sumWants, waiting: sumWaiting, capacity }])
    }
    this.#past = past
  }

  /** Oldest first. */
  of(resourceId: string): readonly Sample[] {
    return this.#past.get(resourceId) ?? []
  }
}

/** The resources with the largest wants. */
export function mostWanted(resources: readonly ServerResourceSummary[], most: number): ServerResourceSummary[] {
  if (resources.length <= most) return [...resources]
  const largest = new Largest<ServerResourceSummary>(most, (a, b) => b.sumWants - a.sumWants)
  for (const resource of resources) largest.add(resource)
  return largest.sorted()
}
