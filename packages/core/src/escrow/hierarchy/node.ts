/** Tags this close are equal. */
const TIE = 1 + 1e-9

/**
 * A node with a weight in a hierarchy: the budget itself, a group or a tenant.
 *
 * A node's guarantee G is its weight times its parent's level; a level is at most G/W of the parent, W being the weights
 * of its active children. A tenant's claim is what is left of its guarantee, as everywhere. A group claims what is left
 * of its own, or what its children claim together, if that is more: its own alone would give away what a silent child
 * may still claim once a sibling has borrowed from outside; theirs alone would give away what the group is due.
 */
export class Node {
  readonly name: string
  readonly weight: number
  readonly parent: Node | undefined
  readonly children: Node[] = []
  active = false
  used = 0
  /** Used, or let pass. */
  passed = 0
  /** What the node is guaranteed; of the root, the limit. */
  guarantee = 0
  /** The sum of the weights of the active children. */
  activeWeight = 0
  /** The level, as a share of the highest that it may be. */
  ratio = 1
  /** How many tenants in here have released their claims; a tenant: 0 or 1. The node's own claim is released meanwhile. */
  released = 0
  /** A tenant's: the cost that it was refused lately, and when; Infinity if it does not wait. */
  waitingFor: number = Number.POSITIVE_INFINITY
  waitsSinceMs = 0

  constructor(name: string, weight: number, parent: Node | undefined) {
    this.name = name
    this.weight = weight
    this.parent = parent
  }

  /** Forgets the window. */
  clear(): void {
    this.active = false
    this.used = 0
    this.passed = 0
    this.guarantee = 0
    this.activeWeight = 0
    this.ratio = 1
    this.released = 0
    this.waitingFor = Number.POSITIVE_INFINITY
    for (const child of this.children) child.clear()
  }

  /** Sets the level, as a share of the highest, and the guarantees of all below. */
  setRatio(ratio: number): void {
    this.ratio = ratio
    if (this.activeWeight === 0) return
    const level = (ratio * this.guarantee) / this.activeWeight
    for (const child of this.children) {
      if (!child.active) continue
      child.guarantee = child.weight * level
      child.setRatio(child.ratio)
    }
  }

  /** What is left of the node's own guarantee when the share `tau` of the window is over. */
  ownClaim(tau: number): number {
    if (!this.active || this.released > 0) return 0
    return Math.max(0, this.guarantee - Math.max(this.passed, this.guarantee * tau))
  }

  claim(tau: number): number {
    const own = this.ownClaim(tau)
    return this.children.length === 0 ? own : Math.max(own, this.childrenClaim(tau, undefined))
  }

  /** All that the children claim, but for one of them. */
  childrenClaim(tau: number, except: Node | undefined): number {
    let sum = 0
    for (const child of this.children) if (child.active && child !== except) sum += child.claim(tau)
    return sum
  }

  /** The least cost, up to `most`, for which a tenant in here waits; Infinity if none does. */
  leastWait(most: number): number {
    if (!this.active) return Number.POSITIVE_INFINITY
    if (this.children.length === 0) return this.waitingFor <= most ? this.waitingFor : Number.POSITIVE_INFINITY
    let least = Number.POSITIVE_INFINITY
    for (const child of this.children) least = Math.min(least, child.leastWait(most))
    return least
  }

  /** Whether no sibling in which somebody waits for what is there, up to `left`, comes before this node with `cost`. */
  comesFirst(cost: number, left: number): boolean {
    const tag = (this.passed + cost) / this.weight
    return (this.parent?.children ?? []).every(
      (other) => other === this || tag <= ((other.passed + other.leastWait(left)) / other.weight) * TIE,
    )
  }

  /** Spends: who waits for its claim lets nothing pass, everybody else what an even pace would have used. */
  spend(cost: number, tau: number): void {
    if (this.released === 0) this.passed = Math.max(this.passed, this.guarantee * tau)
    this.passed += cost
    this.used += cost
  }
}
