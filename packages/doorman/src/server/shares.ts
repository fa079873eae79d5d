import type { Child } from './child.js'
import type { ChildLedger } from './child-ledger.js'
import type { Rules } from './rules.js'

/** How things stood before the request came; a proportional share looks at that too. */
export interface Before {
  /** The child had asked before. */
  known: boolean
  wants: number
  subclients: number
}

/**
 * What a child should have of `capacity` in the end, whatever the others still hold. Its wants have been entered.
 * O(log n), but O(n) for the published form of FAIR_SHARE.
 */
export function targetOf(rules: Rules, ledger: ChildLedger, child: Child, capacity: number, before: Before): number {
  switch (rules.kind) {
    case 'NO_ALGORITHM':
      return child.wants
    case 'STATIC':
      return Math.min(child.wants, capacity)
    case 'PROPORTIONAL_SHARE':
      return proportionalShare(ledger, child, capacity, before)
    case 'FAIR_SHARE':
      return rules.published ? publishedFairShare(ledger, child, capacity) : fairShare(ledger, child, capacity)
  }
}

/** Max-min over the subclients of all. */
function fairShare(ledger: ChildLedger, child: Child, capacity: number): number {
  let target = 0
  for (let i = 0; i < child.buckets.length; i++) target += ledger.bands.target(child.buckets[i]!, capacity)
  return target
}

/**
 * An equal share for every subclient; what some leave of theirs goes to the others in proportion to what they want
 * beyond theirs. As in the published server: a child that is new takes part with the totals as they were before.
 */
function proportionalShare(ledger: ChildLedger, child: Child, capacity: number, before: Before): number {
  const { known } = before
  const equal = capacity / (known ? before.subclients : before.subclients + child.subclients)
  const mine = equal * child.subclients
  if (before.wants <= capacity || child.wants <= mine) return child.wants
  let extra = 0
  let need = 0
  for (const { blocks } of ledger.bands.all) {
    blocks.find(equal)
    extra += equal * blocks.foundMass - blocks.foundWants
    need += blocks.wants - blocks.foundWants - equal * (blocks.mass - blocks.foundMass)
  }
  if (!known) need -= child.wants - mine
  return need > 0 ? mine + (child.wants - mine) * (extra / need) : mine
}

/**
 * The published FAIR_SHARE with its defects: two rounds of redistribution, the second of which measures others by the
 * requester's own share, and does not stop at its wants.
 */
function publishedFairShare(ledger: ChildLedger, child: Child, capacity: number): number {
  const equal = capacity / ledger.bands.subclients
  const deserved = equal * child.subclients
  if (child.wants <= deserved) return child.wants
  const first = leftBy(ledger, child, (other) => equal * other.subclients)
  const second = deserved + (first.left / (first.contenders + child.subclients)) * child.subclients
  if (child.wants < second) return child.wants
  const last = leftBy(ledger, child, (other) => (other.wants > equal * other.subclients ? second : other.wants))
  return second + (last.left / (last.contenders + child.subclients)) * child.subclients
}

/** What others leave of their shares, and how many subclients want more than theirs. */
function leftBy(ledger: ChildLedger, child: Child, shareOf: (other: Child) => number) {
  let left = 0
  let contenders = 0
  for (const other of ledger.children()) {
    if (other === child) continue
    const share = shareOf(other)
    left += Math.max(0, share - other.wants)
    if (other.wants > share) contenders += other.subclients
  }
  return { left, contenders }
}
