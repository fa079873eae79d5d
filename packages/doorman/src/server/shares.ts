import type { Child, ChildLedger } from './child-ledger.js'
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

/**
 * What a child is given: what it should have in the end, as far as others cannot be using it; and of what it has
 * already, all that it should have. So nobody falls below its share because others have not come yet to hear of theirs:
 * while a capacity is cut, the sum comes down from the old one to the new one, and no further. `floor` is what the
 * children of a server may be using.
 */
export function grantOf(target: number, free: number, leased: number, floor: number): number {
  return Math.max(Math.min(target, Math.max(free, leased)), floor)
}

/**
 * Capacity is handed out in multiples of a power of two, 2^-40 of the capacity or so: sums of such numbers are exact
 * in doubles, so totals that are adjusted in place stay true and come back to exactly 0.
 */

/** Binary digits between the capacity and the unit. */
const DIGITS = 40

/** How far the capacity may move, in doublings, before the unit follows it; 2^53 leaves room for that. */
const SLACK = 4

/** The exponent of the unit for `capacity`; the present one while it is good enough. */
export function exponentOf(capacity: number, present?: number): number {
  const exponent =
    capacity > 0 && capacity < Number.POSITIVE_INFINITY ? Math.ceil(Math.log2(capacity)) - DIGITS : -DIGITS
  return present !== undefined && Math.abs(exponent - present) <= SLACK ? present : exponent
}

/** What somebody says, as far as it counts: sums of it stay numbers, whatever it was. */
export function countable(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

/** The least multiple of `unit` that is not below `value`. */
export function roundUp(value: number, unit: number): number {
  const multiple = Math.ceil(value / unit)
  return Number.isSafeInteger(multiple) ? multiple * unit : value
}

/** The largest multiple of `unit` that is not above `value`. */
export function roundDown(value: number, unit: number): number {
  const multiple = Math.floor(value / unit)
  return Number.isSafeInteger(multiple) ? multiple * unit : value
}
