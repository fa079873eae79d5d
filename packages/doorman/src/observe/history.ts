import type { ServerResourceSummary } from '../server/index.js'
import { Largest } from '../server/snapshot.js'

/** What one resource was like at a moment. */
export interface Sample {
  readonly has: number
  readonly wants: number
  readonly waiting: number
  readonly capacity: number
}

/** Five minutes, a sample each five seconds. */
export const SAMPLE_MS = 5_000
const SAMPLES = 60
/** The history keeps the past of this many resources: those with the largest wants. */
const MOST_RESOURCES = 200

/** What was wanted, leased and waited for over the last minutes, by resource. Bounded. */
export class History {
  #past = new Map<string, Sample[]>()

  /** To be called each {@link SAMPLE_MS}. */
  look(resources: readonly ServerResourceSummary[]): void {
    const past = new Map<string, Sample[]>()
    for (const { id, sumHas, sumWants, sumWaiting, capacity } of mostWanted(resources, MOST_RESOURCES)) {
      const before = this.#past.get(id) ?? []
      past.set(id, [...before.slice(1 - SAMPLES), { has: sumHas, wants: sumWants, waiting: sumWaiting, capacity }])
    }
    this.#past = past
  }

  /** The oldest first. */
  of(resourceId: string): readonly Sample[] {
    return this.#past.get(resourceId) ?? []
  }
}

/** The resources of which most is wanted. */
export function mostWanted(resources: readonly ServerResourceSummary[], most: number): ServerResourceSummary[] {
  if (resources.length <= most) return [...resources]
  const largest = new Largest<ServerResourceSummary>(most, (a, b) => b.sumWants - a.sumWants)
  for (const resource of resources) largest.add(resource)
  return largest.sorted()
}
