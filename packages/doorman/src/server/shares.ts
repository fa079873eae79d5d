import type { Child, ChildLedger } from './child-ledger.js'
import type { Rules } from './rules.js'

/** The totals before a request; a proportional share also depends on them. */
export interface Before {
  /** True if the child had asked before. */
  known: boolean
  wants: number
  subclients: number
}

/**
 * A child's final share of `capacity`, regardless of what others still hold. Its wants have been entered. O(log n), but
 * O(n) for the published form of FAIR_SHARE.
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

/** Max-min over all subclients. */
function fairShare(ledger: ChildLedger, child: Child, capacity: number): number {
  let target = 0
  for (let i = 0; i < child.buckets.length; i++) target += ledger.bands.target(child.buckets[i]!, capacity)
  return target
}

/**
 * An equal share for every subclient; unused parts go to the others in proportion to their wants beyond their shares.
 * As in the published server, a new child takes part with the earlier totals.
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
 * requester's own share, and does not stop at their wants.
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

/** The unused parts of the others' shares, and the number of subclients that want more than theirs. */
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
 * The grant to a child: its final share, as far as others cannot be using it, and at least the part of its present
 * lease within that share. So a child does not fall below its share because others have not asked yet: while a capacity
 * is reduced, the sum falls from the old one to the new one, and no further. `floor` is the amount that a server's own
 * children may be using.
 */
export function grantOf(target: number, free: number, leased: number, floor: number): number {
  return Math.max(Math.min(target, Math.max(free, leased)), floor)
}

/**
 * Capacity is granted in multiples of a power of two, about 2^-40 of the capacity and at most 1: sums of such numbers
 * are exact in doubles, so totals that are adjusted in place stay correct and return to exactly 0.
 */

/** Binary digits between the capacity and the unit. */
const DIGITS = 40

/** Doublings by which the capacity may change before the unit follows; 2^53 leaves room for that. */
const SLACK = 4

/** The exponent of the unit for `capacity`; the present one while it is close enough. */
export function exponentOf(capacity: number, present?: number): number {
  const exponent =
    capacity > 0 && capacity < Number.POSITIVE_INFINITY ? Math.min(0, Math.ceil(Math.log2(capacity)) - DIGITS) : -DIGITS
  return present !== undefined && Math.abs(exponent - present) <= SLACK ? present : exponent
}

/** A stated value, bounded so that sums of such values stay finite numbers. */
export function countable(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

/** The smallest multiple of `unit` that is not below `value`. */
export function roundUp(value: number, unit: number): number {
  const multiple = Math.ceil(value / unit)
  return Number.isSafeInteger(multiple) ? multiple * unit : value
}

/** The largest multiple of `unit` that is not above `value`. */
export function roundDown(value: number, unit: number): number {
  const multiple = Math.floor(value / unit)
  return Number.isSafeInteger(multiple) ? multiple * unit : value
}
