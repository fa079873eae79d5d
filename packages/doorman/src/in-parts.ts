import { CapacityError, type CapacityService, type Mastership } from '@fairlead/core/doorman'
import type { DoormanServer, DoormanServerLimits } from './server/index.js'
import { requireGetCapacity, requireGetServerCapacity, requireReleaseCapacity } from './server/limits.js'

/**
 * Decisions without a pause, each about a client's resource or a server's group of clients: more would keep calls
 * waiting.
 */
const MOST_DECISIONS = 100

interface PartAnswer<One> {
  response: One[]
  mastership?: Mastership
}

/**
 * The server for many callers: a request about more than a hundred resources is answered in parts, with a `pause`
 * before, between and after them in which other calls are answered. It is checked as a whole before the first part, so
 * an invalid one changes nothing.
 */
export function inParts(
  server: DoormanServer,
  limits: DoormanServerLimits,
  pause: () => Promise<unknown>,
): CapacityService {
  async function joined<Each, One>(
    parts: readonly Each[][],
    answer: (part: Each[]) => PartAnswer<One>,
  ): Promise<PartAnswer<One>> {
    const response: One[] = []
    let full: CapacityError | undefined
    for (const part of parts) {
      // Before the first part too: such a request took long to read.
      await pause()
      try {
        const next = answer(part)
        // Mastership was lost meanwhile: earlier grants are void.
        if (next.mastership !== undefined) return next
        response.push(...next.response)
      } catch (error) {
        if (!(error instanceof CapacityError && error.code === 'resource_exhausted')) throw error
        full = error
      }
    }
    if (full !== undefined && response.length === 0) throw full
    // The response takes long to write.
    await pause()
    return { response }
  }

  return {
    discovery: () => server.discovery(),
    getCapacity(request) {
      const parts = partsOf(request.resource, () => 1)
      if (parts.length === 1) return server.getCapacity(request)
      requireGetCapacity(request, limits)
      return joined(parts, (resource) => server.getCapacity({ ...request, resource }))
    },
    getServerCapacity(request) {
      const parts = partsOf(request.resource, ({ wants }) => wants.length)
      if (parts.length === 1) return server.getServerCapacity(request)
      requireGetServerCapacity(request, limits)
      return joined(parts, (resource) => server.getServerCapacity({ ...request, resource }))
    },
    releaseCapacity(request) {
      const parts = partsOf(request.resourceId, () => 1)
      if (parts.length === 1) return server.releaseCapacity(request)
      requireReleaseCapacity(request, limits)
      const release = (resourceId: string[]): PartAnswer<never> => ({
        response: [],
        ...server.releaseCapacity({ ...request, resourceId }),
      })
      return joined(parts, release).then(({ mastership }) => (mastership === undefined ? {} : { mastership }))
    },
  }
}

/** At least one part; each has decisions up to the bound, or a single item with more. */
function partsOf<Each>(items: readonly Each[], decisions: (item: Each) => number): Each[][] {
  let last: Each[] = []
  const parts = [last]
  let left = MOST_DECISIONS
  for (const item of items) {
    const count = Math.max(1, decisions(item))
    if (count > left && last.length > 0) {
      last = []
      parts.push(last)
      left = MOST_DECISIONS
    }
    last.push(item)
    left -= count
  }
  return parts
}
