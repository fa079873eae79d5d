/** What a budget's answer says of a tenant: a decision of an escrow, or the detail of a refusal by a gate's budget. */
export interface RateLimitState {
  /** The tenant's present ceiling, in units of cost. */
  readonly limit: number
  /** A cost up to this is admitted if it is asked next. */
  readonly remaining: number
  /** What the tenant is guaranteed in a window. */
  readonly guarantee: number
  /** Until the window ends, in milliseconds. */
  readonly resetAfterMs: number
}

/** Names and values of the two fields; `rateLimit` is absent where nothing needs to be said. */
export interface RateLimitFields {
  /** For `RateLimit-Policy`. */
  readonly policy: string
  /** For `RateLimit`. */
  readonly rateLimit: string | undefined
}

/** What is said of a policy besides its numbers. */
export interface RateLimitPolicy {
  /** A name for the policy, of printable ASCII characters. @default 'budget' */
  name?: string
  /** Length of its window, in milliseconds. */
  windowMs: number
  /** When the state is told: `'near'` exhaustion only, or `'always'`. @default 'near' */
  state?: 'near' | 'always'
}

/** The state is told from here on: when less than this share of the ceiling remains. */
const NEAR = 1 / 10
/** The largest integer of a structured field (RFC 9651). */
const MOST = 999_999_999_999_999

/**
 * The values of `RateLimit-Policy` and `RateLimit`, by draft-ietf-httpapi-ratelimit-headers-11.
 *
 * `q` is what the tenant is guaranteed in a window of `w` seconds, `r` what it may ask for next, for the next `t`
 * seconds. All are whole: quotas rounded down, so that nobody is told more than is so, times up. No partition key is
 * sent: it would tell clients apart to whoever reads the fields. On an ordinary response the state is told only near
 * exhaustion, because a low figure may stall a client that need not wait; on a refusal it should be told always.
 *
 * Throws a `TypeError` if `name` has characters that a field cannot carry.
 */
export function rateLimitFields(state: RateLimitState, policy: RateLimitPolicy): RateLimitFields {
  const { name = 'budget', windowMs, state: when = 'near' } = policy
  const label = quoted(name)
  const remaining = whole(Math.floor(state.remaining))
  const told = when === 'always' || state.remaining < NEAR * state.limit || remaining === 0
  return {
    policy: `${label};q=${whole(Math.floor(state.guarantee))};w=${Math.max(1, whole(Math.ceil(windowMs / 1000)))}`,
    rateLimit: told ? `${label};r=${remaining};t=${whole(Math.ceil(state.resetAfterMs / 1000))}` : undefined,
  }
}

function whole(number: number): number {
  return number > 0 ? Math.min(MOST, number) : 0
}

/** A string of a structured field. */
function quoted(name: string): string {
  if (!/^[\x20-\x7e]+$/.test(name))
    throw new TypeError(`name must be of printable ASCII characters, got ${JSON.stringify(name)}`)
  return `"${name.replace(/["\\]/g, '\\$&')}"`
}
