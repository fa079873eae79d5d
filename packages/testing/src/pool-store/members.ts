import type { LeaseAnswer, LeaseCall, PoolMark, PoolStore, PoolTerms, TenantReport } from '@fairlead/core/escrow'
import { Pool } from '@fairlead/core/internal'

/** A member's state after its last answer. */
interface KnownMember {
  seq: number
  win: number
  holds: number
  ahead: number
  mark: PoolMark
}

type MoreOfCall = Partial<LeaseCall> & { weight?: number; back?: number; idle?: number }

/** Members of one pool, like processes: each counts its calls, spends its grants, and reports its holdings. */
export class Members {
  readonly terms: PoolTerms
  /** The calls in the order of their answers, each with its answer. */
  readonly log: { readonly call: LeaseCall; readonly answer: LeaseAnswer }[] = []
  readonly #stores: readonly PoolStore[]
  readonly #known: Map<string, KnownMember> = new Map()

  constructor(stores: readonly PoolStore[], terms: PoolTerms) {
    this.#stores = stores
    this.terms = terms
  }

  /**
   * The member's next call: it asks for a tenant of its own, of weight 1 or as `more` says, and returns `back` of its
   * holdings. Of the rest, `idle` is not spent.
   */
  next(member: string, need: number, { weight = 1, back = 0, idle = 0, ...more }: MoreOfCall = {}): LeaseCall {
    const { win, holds, ahead, mark, seq } = this.#knownOf(member)
    this.#known.set(member, { win, holds, ahead, mark, seq: seq + 1 })
    const left = Math.max(0, holds - back)
    const tenants: TenantReport[] = [{ tenant: `of ${member}`, weight, used: left, rate: 1, ask: 0 }]
    const none = { weight: 0, used: 0 }
    return {
      ...{ pool: this.terms, member, seq: seq + 1, win, holds: left, spent: Math.max(0, left - idle), mark },
      ...{ quiet: none, tenants, need, ahead, ...more },
    }
  }

  async send(call: LeaseCall): Promise<LeaseAnswer> {
    const answer = await this.#stores[this.log.length % this.#stores.length]!.lease(call)
    const { seq } = this.#knownOf(call.member)
    const { win, mark, grant, ahead } = answer
    // Only the answer to the last call counts.
    if (seq === call.seq) {
      const held = call.win === win ? call.holds : call.win === win - 1 ? (call.ahead ?? 0) : 0
      this.#known.set(call.member, { seq, win, mark, ahead, holds: held + grant })
    }
    this.log.push({ call, answer })
    return answer
  }

  ask(member: string, need: number, more: Parameters<Members['next']>[2] = {}): Promise<LeaseAnswer> {
    return this.send(this.next(member, need, more))
  }

  /** All credit of the window that members hold. */
  held(): number {
    let sum = 0
    for (const { holds } of this.#known.values()) sum += holds
    return sum
  }

  #knownOf(member: string): KnownMember {
    return (
      this.#known.get(member) ?? {
        seq: 0,
        win: -1,
        holds: 0,
        ahead: 0,
        mark: { epoch: 0, rev: 0, total: 0, ahead: 0, members: 0 },
      }
    )
  }

  /**
   * Replays the logged calls on the reference, at the times at which the store answered them; returns the reference's
   * answers. Only for calls that were made one after the other.
   */
  reference(): LeaseAnswer[] {
    const pool = new Pool()
    const { windowMs } = this.terms
    return this.log.map(({ call, answer }) => pool.lease(call, (answer.win + 1) * windowMs - answer.leftMs))
  }
}
