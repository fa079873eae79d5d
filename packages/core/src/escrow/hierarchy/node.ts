import type { Group } from './group.js'

/** A node with a weight in a hierarchy: a {@link Group}, or a {@link Tenant}. */
export class Node {
  readonly weight: number
  /** The group that it is in; undefined for the root, which stands for the budget itself. */
  readonly parent: Group | undefined
  /** Its place among its siblings, groups before tenants. */
  readonly slot: number
  /** The number of the window that all of the below is about. */
  window = 0
  active = false
  /** Used, or let pass. */
  passed = 0
  /**
   * How many tenants in here have released their claims; a tenant: 0 or 1. The node's own claim is released meanwhile.
   */
  released = 0
  /** The least cost that somebody in here was refused lately; Infinity if nobody waits. */
  waitsFor: number = Number.POSITIVE_INFINITY
  /** The lowest finish tag of siblings in which somebody waits for what there is, when that was last looked for. */
  rivalTag: number = Number.POSITIVE_INFINITY
  /** What its weight guarantees it, when that was last worked out. */
  guarantee = 0

  constructor(weight: number, parent: Group | undefined, slot: number) {
    this.weight = weight
    this.parent = parent
    this.slot = slot
  }

  /**
   * What it has used or let pass, when the share `tau` of the window is over. Who waits for its claim lets nothing
   * pass.
   */
  passedBy(tau: number): number {
    return this.released > 0 ? this.passed : Math.max(this.passed, this.guarantee * tau)
  }

  /** What is left of its own guarantee. */
  ownClaim(tau: number): number {
    return this.released > 0 ? 0 : Math.max(0, this.guarantee - this.passedBy(tau))
  }

  /** Forgets the window. */
  clear(): void {
    this.active = false
    this.passed = 0
    this.released = 0
    this.waitsFor = Number.POSITIVE_INFINITY
    this.guarantee = 0
  }
}
