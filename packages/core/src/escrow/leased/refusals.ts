/** What a tenant would ask the pool for. */
export interface Request {
  readonly tenant: string
  /** The tenant's whole weight. */
  readonly weight: number
  /** What it has used per weight, everywhere together, as far as is known. */
  readonly share: number
  readonly need: number
}

/** What the pool refused. */
export interface Refusal extends Request {
  /** When it said to come back. */
  readonly untilMs: number
  /** There was not so much left in all. */
  readonly isExhausted: boolean
}

/** Refusals that are remembered, so that a check looks at few. */
const MOST_KEPT = 32

/**
 * What the pool has refused, until it said to come back. It tells of the tenant that it was refused to, and of those
 * that have used more per weight, weigh no more and need no less: their claims are smaller, and they come later in
 * line. It tells nothing of others. What exceeds all that is left is refused to everybody.
 */
export class Refusals {
  #refusals: Refusal[] = []

  /** The refusal that holds longest for a request; nothing, if the pool may be asked. */
  of(request: Request, nowMs: number): Refusal | undefined {
    let longest: Refusal | undefined
    for (const refusal of this.#refusals)
      if (refusal.untilMs > (longest?.untilMs ?? nowMs) && tellsOf(refusal, request)) longest = refusal
    return longest
  }

  add(refusal: Refusal, nowMs: number): void {
    this.#refusals = this.#refusals.filter(({ tenant, untilMs }) => untilMs > nowMs && tenant !== refusal.tenant)
    if (this.#refusals.length >= MOST_KEPT) this.#refusals.shift()
    this.#refusals.push(refusal)
  }

  /** So much is left in all, by the pool's last word. */
  leave(left: number): void {
    this.#refusals = this.#refusals.filter(({ isExhausted, need }) => !isExhausted || need > left)
  }

  clear(): void {
    this.#refusals = []
  }
}

function tellsOf(refusal: Refusal, { tenant, weight, share, need }: Request): boolean {
  if (need < refusal.need) return false
  if (refusal.isExhausted || tenant === refusal.tenant) return true
  return weight <= refusal.weight && share >= refusal.share * (1 - 1e-9)
}
