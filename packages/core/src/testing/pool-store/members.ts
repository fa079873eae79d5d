import type { LeaseAnswer, LeaseCall, PoolStore, PoolTerms } from '../../escrow/pool/index.js'
import { Pool } from '../../escrow/pool/pool.js'

/** Members of one pool: they count their calls, and know the window of their last answer. */
export class Members {
  readonly terms: PoolTerms
  /** The calls in the order in which they were answered, each with its answer. */
  readonly log: { readonly call: LeaseCall; readonly answer: LeaseAnswer }[] = []
  readonly #stores: readonly PoolStore[]
  readonly #seqs: Map<string, number> = new Map()
  readonly #wins: Map<string, number> = new Map()

  constructor(stores: readonly PoolStore[], terms: PoolTerms) {
    this.#stores = stores
    this.terms = terms
  }

  /** A call of the member, its next. */
  next(member: string, need: number, more: Partial<LeaseCall> = {}): LeaseCall {
    const seq = (this.#seqs.get(member) ?? 0) + 1
    this.#seqs.set(member, seq)
    const win = this.#wins.get(member) ?? -1
    return { pool: this.terms, member, seq, win, weight: 1, need, back: 0, ...more }
  }

  async send(call: LeaseCall): Promise<LeaseAnswer> {
    const answer = await this.#stores[this.log.length % this.#stores.length]!.lease(call)
    this.#wins.set(call.member, answer.win)
    this.log.push({ call, answer })
    return answer
  }

  ask(member: string, need: number, more: Partial<LeaseCall> = {}): Promise<LeaseAnswer> {
    return this.send(this.next(member, need, more))
  }

  /**
   * Tells the logged calls to the reference, at the times at which the store says that it answered them; gives what
   * the reference answers. Only for calls that were made one after the other.
   */
  reference(): LeaseAnswer[] {
    const pool = new Pool(Number.NEGATIVE_INFINITY)
    const { windowMs } = this.terms
    return this.log.map(({ call, answer }) => pool.lease(call, (answer.win + 1) * windowMs - answer.leftMs))
  }
}
