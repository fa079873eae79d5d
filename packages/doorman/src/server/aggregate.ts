import type { PriorityBandAggregate } from '@fairlead/core/doorman'
import type { ChildLedger } from './child-ledger.js'
import { countable } from './shares.js'

/** Clients of one priority whose wants differ by at most this factor are reported together. */
const ALIKE = 1.25
const MOST = 32

/** Clients of one priority, whose lowest wants per mass are `least`. */
interface WantsGroup extends Required<PriorityBandAggregate> {
  least: number
}

/**
 * The wants of all children, for the parent: one sum per priority and size of the wants, at most {@link MOST} or one
 * per priority, so that the parent finds the max-min level of all clients in the tree. With one sum for all, a big
 * client would take the unused shares of its small neighbours. `reserve` counts as wants of clients like the known
 * ones.
 *
 * O(blocks of children), or O(n) with weights.
 */
export function aggregate(ledger: ChildLedger, reserve: number, weighted: boolean): PriorityBandAggregate[] {
  let groups = groupsOf(ledger, weighted)
  for (let factor = ALIKE ** 2; groups.length > MOST; factor *= factor) {
    groups = coarser(groups, factor)
    if (factor === Number.POSITIVE_INFINITY) break
  }
  const sums: PriorityBandAggregate[] = groups.map(({ priority, numClients, wants, weight }) =>
    weighted ? { priority, numClients, wants, weight } : { priority, numClients, wants },
  )
  if (reserve > 0) sums.push(unknownClients(ledger, reserve, sums[0]?.priority ?? 0))
  return sums
}

function groupsOf(ledger: ChildLedger, weighted: boolean): WantsGroup[] {
  const groups: WantsGroup[] = []
  for (const { blocks, priority } of ledger.bands.all) {
    let group: WantsGroup | undefined
    blocks.forEach(
      (entry, wants, mass) => {
        const ratio = wants / mass
        if (group === undefined || ratio > group.least * ALIKE) {
          group = { priority, numClients: 0, wants: 0, weight: 0, least: ratio }
          groups.push(group)
        }
        add(group, entry?.subclients ?? mass, wants, mass)
      },
      // Without weights the mass is the number of clients.
      (bound) => !weighted && group !== undefined && bound <= group.least * ALIKE,
    )
  }
  return groups
}

/** Merges neighbours of one priority whose ratios differ by at most `factor`. */
function coarser(groups: readonly WantsGroup[], factor: number): WantsGroup[] {
  const fewer: WantsGroup[] = []
  for (const group of groups) {
    const last = fewer.at(-1)
    const isAlike = factor === Number.POSITIVE_INFINITY || (last !== undefined && group.least <= last.least * factor)
    if (last?.priority === group.priority && isAlike) add(last, group.numClients, group.wants, group.weight)
    else fewer.push(group)
  }
  return fewer
}

function add(group: WantsGroup, numClients: number, wants: number, weight: number): void {
  group.numClients = countable(group.numClients + numClients)
  group.wants += wants
  group.weight += weight
}

/** The number of clients that would hold the reserve if each held as much as the known ones on average. */
function unknownClients(ledger: ChildLedger, reserve: number, priority: number): PriorityBandAggregate {
  const { held } = ledger
  const each = held > 0 ? held / ledger.bands.subclients : reserve
  return { priority, numClients: Math.max(1, Math.round(reserve / each)), wants: reserve }
}
