/** What can be combined: an escrow's decision, a rate limiter's, the word of anything that says yes or no. */
export interface Answer {
  readonly allowed: boolean
  /** A short word for why not. */
  readonly reason?: string | undefined
  /** The most that may be used at all, in units of cost. @default Infinity: it knows no limit */
  readonly limit?: number
  /** A cost up to this would be allowed next. @default Infinity if it is allowed, else 0 */
  readonly remaining?: number
  /** When it is worth asking again, in milliseconds. @default 0 */
  readonly retryAfterMs?: number
  /** Until these numbers are void, in milliseconds. @default 0 */
  readonly resetAfterMs?: number
}

/** Several answers in one. */
export interface Combined<A extends Answer = Answer> {
  /** True if all of them are. */
  readonly allowed: boolean
  /** Of the answer that decided. */
  readonly reason: string | undefined
  /** The least of all. */
  readonly limit: number
  /** The least of all. */
  readonly remaining: number
  /** The longest of those that refuse; 0 if none does. */
  readonly retryAfterMs: number
  /** The longest of all. */
  readonly resetAfterMs: number
  /**
   * The answer that decided: of those that refuse, the one to wait for the longest; if none refuses, the one that
   * leaves least. Where two of them say all the same, either.
   */
  readonly by: A
}

/**
 * Several answers to one request as a single one: allowed only if all are, and as strict in each number as the
 * strictest of them. The order does not matter, and an answer may come more than once.
 *
 * It only looks at answers. What those that allowed have spent is spent: if the whole is refused, refund it. A gate
 * with several budgets does so itself.
 */
export function combine<A extends Answer>(first: A, ...others: readonly A[]): Combined<A> {
  let by = first
  let { limit, remaining, resetAfterMs } = numbersOf(first)
  for (const answer of others) {
    const numbers = numbersOf(answer)
    limit = Math.min(limit, numbers.limit)
    remaining = Math.min(remaining, numbers.remaining)
    resetAfterMs = Math.max(resetAfterMs, numbers.resetAfterMs)
    if (isStricter(answer, by)) by = answer
  }
  const { allowed, reason } = by
  const retryAfterMs = allowed ? 0 : numbersOf(by).retryAfterMs
  return { allowed, reason: allowed ? undefined : reason, limit, remaining, retryAfterMs, resetAfterMs, by }
}

function numbersOf(answer: Answer): Required<Omit<Answer, 'allowed' | 'reason'>> {
  const { allowed, limit = Number.POSITIVE_INFINITY, retryAfterMs = 0, resetAfterMs = 0 } = answer
  return { limit, remaining: answer.remaining ?? (allowed ? Number.POSITIVE_INFINITY : 0), retryAfterMs, resetAfterMs }
}

/** Whether `answer` decides rather than `other`; neither of the two before itself, so that their order is nothing. */
function isStricter(answer: Answer, other: Answer): boolean {
  if (answer.allowed !== other.allowed) return other.allowed
  const [a, b] = [numbersOf(answer), numbersOf(other)]
  if (!answer.allowed) {
    if (a.retryAfterMs !== b.retryAfterMs) return a.retryAfterMs > b.retryAfterMs
    if (answer.reason !== other.reason) return (answer.reason ?? '') < (other.reason ?? '')
  }
  if (a.remaining !== b.remaining) return a.remaining < b.remaining
  if (a.limit !== b.limit) return a.limit < b.limit
  return a.resetAfterMs > b.resetAfterMs
}
