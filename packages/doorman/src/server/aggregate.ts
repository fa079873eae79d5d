import type { PriorityBandAggregate } from '@fairlead/core'
import type { Ledger } from './ledger.js'

/** Clients of one priority whose wants differ by no more than this factor are told of together. */
const ALIKE = 1.25
const MOST = 32

/**
 * What all children want, for the parent: one sum per priority and size of the wants, at most {@link MOST}, so that the
 * parent finds the level of all clients everywhere. With one sum for all, a big client would keep what its small
 * neighbours leave. `reserve` counts as wants, of clients like those that are known. O(n).
 */
export function aggregate(ledger: Ledger, reserve: number, weighted: boolean): PriorityBandAggregate[] {
  let factor = ALIKE
  let groups = group(ledger, factor)
  while (groups.length > MOST && factor < Number.POSITIVE_INFINITY) {
    factor *= factor
    groups = group(ledger, factor)
  }
  const sums = groups.map(({ priority, numClients, wants, weight }) =>
    weighted ? { priority, numClients, wants, weight } : { priority, numClients, wants },
  )
  if (reserve > 0) sums.push(unknownClients(ledger, reserve, sums[0]?.priority ?? 0))
  return sums
}

function group(ledger: Ledger, factor: number): Required<PriorityBandAggregate>[] {
  const groups: Required<PriorityBandAggregate>[] = []
  /** By priority: the group that is being filled, and up to which wants per mass. */
  const open = new Map<number, { sum: Required<PriorityBandAggregate>; most: number }>()
  for (const { blocks, priority } of ledger.bands.all)
    blocks.forEach(({ subclients }, wants, mass) => {
      const present = open.get(priority)
      if (present !== undefined && wants / mass <= present.most) {
        present.sum.numClients += subclients
        present.sum.wants += wants
        present.sum.weight += mass
        return
      }
      const sum = { priority, numClients: subclients, wants, weight: mass }
      groups.push(sum)
      open.set(priority, { sum, most: (wants / mass) * factor })
    })
  return groups
}

/** As many as would hold the reserve if they held what the known ones do. */
function unknownClients(ledger: Ledger, reserve: number, priority: number): PriorityBandAggregate {
  const { held } = ledger
  const each = held > 0 ? held / ledger.bands.subclients : reserve
  return { priority, numClients: Math.max(1, Math.round(reserve / each)), wants: reserve }
}
