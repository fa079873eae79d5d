import type { LeasedTicket } from './options.js'
import type { LeaseAnswer, TenantReport } from './store.js'

/** Receives each answer to a call that asks, first of all, for a group. */
type Listener = (report: TenantReport, answer: LeaseAnswer) => void

/** A group's holding of a member's credit. */
interface ChildGroup {
  /** Credit of the next window that it wants to hold. */
  wants: number
  /** The promised part of that. */
  promised: number
  /** The amount promised of this window, spent for it when the window began. */
  begun: LeasedTicket | undefined
}

/** The member's account with its own pool: its window, and its credit of the next one. */
interface HeldCredit {
  readonly win: number
  readonly ahead: number
}

/**
 * The groups below a member of a pool, which are tenants there, and their holdings of its next window.
 *
 * A group draws ahead for its own tenants, from the credit that this member has drawn ahead: that is promised to the
 * group, is not returned, and is spent for the group as soon as this member begins the next window. So each level of a
 * tree draws ahead from the one above as a flat pool does, and all together never more than the root has drawn.
 */
export class ChildGroups {
  readonly #listeners: Map<string, Listener> = new Map()
  readonly #children: Map<string, ChildGroup> = new Map()
  readonly #standing: () => HeldCredit
  readonly #spend: (group: string, amount: number) => LeasedTicket
  /** The window in which promises were made; they apply to the next one. */
  #win = -1
  /** Promises to be spent, because their window has begun. */
  #due: [group: string, amount: number][] = []

  /** `standing` returns an updated account; `spend` spends credit of the present window for a group. */
  constructor(standing: () => HeldCredit, spend: (group: string, amount: number) => LeasedTicket) {
    this.#standing = standing
    this.#spend = spend
  }

  /** From now on `hear` receives each answer to a call that asks, first of all, for this group. */
  listen(group: string, hear: Listener): void {
    this.#listeners.set(group, hear)
  }

  hear(report: TenantReport, answer: LeaseAnswer): void {
    this.#listeners.get(report.tenant)?.(report, answer)
  }

  /** Total promised to all groups of the next window. */
  get promised(): number {
    let sum = 0
    for (const { promised } of this.#children.values()) sum += promised
    return sum
  }

  /** Total that all groups want of the next window, or were promised. */
  get wanted(): number {
    let sum = 0
    for (const { wants, promised } of this.#children.values()) sum += Math.max(wants, promised)
    return sum
  }

  /**
   * The amount that a group may hold of the window after `win`: its wish, as far as this member has credit of that
   * window; it already holds `holds`. The member's next call asks for the missing amount.
   */
  promise(group: string, win: number, holds: number, wants: number): number {
    const { win: own, ahead } = this.#standing()
    if (win !== own) return holds
    if (wants <= 0 && !this.#children.has(group)) return 0
    const child = this.#childOf(group)
    this.#win = win
    child.wants = wants
    child.promised = Math.max(holds, Math.min(wants, ahead - (this.promised - child.promised)))
    return child.promised
  }

  /** The amount spent for a group from its promise when this window began. */
  begunWith(group: string): LeasedTicket | undefined {
    this.#standing()
    return this.#children.get(group)?.begun
  }

  /** The window `win` begins. */
  begin(win: number): void {
    this.#due = []
    for (const [group, { promised }] of this.#children)
      if (promised > 0 && win === this.#win + 1) this.#due.push([group, promised])
    this.#children.clear()
  }

  /** Spends the promises of the present window, once. */
  keep(): void {
    if (this.#due.length === 0) return
    const due = this.#due
    this.#due = []
    for (const [group, amount] of due) this.#childOf(group).begun = this.#spend(group, amount)
  }

  #childOf(group: string): ChildGroup {
    let child = this.#children.get(group)
    if (child === undefined) {
      child = { wants: 0, promised: 0, begun: undefined }
      this.#children.set(group, child)
    }
    return child
  }
}
