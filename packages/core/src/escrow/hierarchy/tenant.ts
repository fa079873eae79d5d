import type { Group } from './group.js'
import { Node } from './node.js'

/** One that asks for costs, in a group of a hierarchy. */
export class Tenant extends Node {
  declare readonly parent: Group
  used = 0
  /** When it was last refused, if it waits. */
  waitsSinceMs = 0
  /** Its place in the list of those who wait. */
  isListed = false
  before: Tenant | undefined
  after: Tenant | undefined

  constructor(weight: number, parent: Group, slot: number) {
    super(weight, parent, slot)
  }

  /** Its weight, if its claim shrinks with time by now, else 0. */
  fading(tau: number): number {
    return this.released === 0 && this.passed < this.guarantee * tau ? this.weight : 0
  }

  override clear(): void {
    super.clear()
    this.used = 0
    this.isListed = false
    this.before = undefined
    this.after = undefined
  }
}
