import type { Quota } from '../admission/decision.js'
import { type Refusal, refuse } from '../admission/refusal.js'
import type { Random } from '../random.js'

/** A refusal rendered for HTTP: the argument of the user's `handler`, and the default response. */
export interface HttpRefusal {
  readonly refusal: Refusal
  /** 429: this flow is over its share. 503: the service is short for all flows, or closing. */
  readonly status: 429 | 503
  /** For `Retry-After`: whole seconds, jittered, never earlier than the refusal asks. Absent if the time is unknown. */
  readonly retryAfterSeconds: number | undefined
  /**
   * `Retry-After`, if the time is known, and the rest of a budget. Every response to the refusal should carry these.
   */
  readonly headers: Fields
  /** RFC 9457 problem details, as JSON text. */
  readonly body: string
}

/** Media type of {@link HttpRefusal.body}. */
export const PROBLEM_JSON = 'application/problem+json'

/** The refusal when an option's function failed and `onError` is `'refuse'`. */
export const OPTION_FAILED: Refusal = refuse('adapter', 'error', false, 1_000)

/** Reasons that are the service's own fault, so that no policy was violated. */
const FAULTS: ReadonlySet<string> = new Set(['closed', 'error', 'store-error'])
const NOT_THE_FLOWS_FAULT: ReadonlySet<string> = new Set(['overload', 'deadline', 'too-wide', ...FAULTS])
const OVER_QUOTA: ReadonlySet<string> = new Set(['over-quota', 'never'])
const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types#'

/**
 * The status of a refusal: 503 if there was a shortage for all flows, if the service cannot do the work in time or at
 * all, or if the gate or a budget's store is at fault; else 429. So a stage of your own is answered with 429 exactly
 * when its refusal says `shortage: false` with a reason of its own.
 */
export function statusOfRefusal(refusal: Refusal): 429 | 503 {
  return refusal.shortage || NOT_THE_FLOWS_FAULT.has(refusal.reason) ? 503 : 429
}

/**
 * Whole seconds to stay away: `retryAfterMs` rounded up, plus a random part of up to half as much, at least one second,
 * so that clients refused together do not return together. Undefined if the time is not finite.
 */
export function retryAfterSeconds(retryAfterMs: number, random: Random): number | undefined {
  if (!Number.isFinite(retryAfterMs)) return undefined
  // The largest times that a number could name would be written with an exponent.
  const least = Math.max(1, secondsOf(retryAfterMs))
  const spread = Math.max(1, Math.floor(least / 2))
  return least + Math.floor(random() * (spread + 1))
}

/**
 * Renders a refusal. The problem types are those of draft-ietf-httpapi-ratelimit-headers. `tellsRateLimit` is false if
 * the response must not report the rest of the budget.
 */
export function httpRefusal(refusal: Refusal, random: Random, tellsRateLimit: boolean = true): HttpRefusal {
  const status = statusOfRefusal(refusal)
  const bound = OVER_QUOTA.has(refusal.reason) ? 'quota' : 'fair share'
  const [type, title] =
    status === 429
      ? ['quota-exceeded', `This client is over its ${bound}`]
      : ['temporary-reduced-capacity', 'The service is short of capacity']
  // The violated policy is the one that the stage enforces.
  const policies = FAULTS.has(refusal.reason) ? undefined : [policyName(refusal.quota?.policy ?? refusal.stage)]
  const seconds = retryAfterSeconds(refusal.retryAfterMs, random)
  return {
    refusal,
    status,
    retryAfterSeconds: seconds,
    headers: {
      ...(seconds !== undefined && { 'Retry-After': `${seconds}` }),
      ...(tellsRateLimit && quotaFields(refusal)),
    },
    body: JSON.stringify({ type: PROBLEM_TYPES + type, title, status, 'violated-policies': policies }),
  }
}

/**
 * The rest of the quota that refused. Its time ends at the earliest useful retry, which may be long before the end of
 * the window, because unused guarantees are lent as the window passes. So `Retry-After` never names an earlier time.
 * Undefined if no retry can succeed: the fields would promise that one can.
 */
function quotaFields({ quota, retryAfterMs }: Refusal): Fields | undefined {
  if (quota === undefined || retryAfterMs === Number.POSITIVE_INFINITY) return undefined
  return rateLimitFields([{ ...quota, resetAfterMs: Math.min(quota.resetAfterMs, retryAfterMs) }], 'always')
}

/** Names and values of header fields, ready to be sent. */
export type Fields = Readonly<Record<string, string>>

/** A quota is nearly exhausted if less than this share of its ceiling remains. */
const NEAR = 1 / 10
/** The largest integer of a structured field (RFC 9651). */
const MOST = 999_999_999_999_999

/**
 * `RateLimit-Policy` and `RateLimit`, by draft-ietf-httpapi-ratelimit-headers-11: a list of the quotas that are nearly
 * exhausted, or of all. Undefined if there are none to report.
 *
 * `q` is the flow's guarantee in a window of `w` seconds; at least `r` is admitted next; both expire after `t`
 * seconds. All are integers: quotas rounded down, so that no client is promised too much, times rounded up.
 * No partition key is sent: readers of the fields could distinguish clients by it. With `'near'`, quotas far from
 * exhaustion are left out: a client might slow down for no reason.
 */
export function rateLimitFields(quotas: readonly Quota[], when: 'near' | 'always'): Fields | undefined {
  // The usual case, on the path of every request.
  if (quotas.length === 0) return undefined
  const told = quotas.filter(
    ({ remaining, limit }) => when === 'always' || !(remaining >= NEAR * limit && whole(remaining) > 0),
  )
  if (told.length === 0) return undefined
  const listOf = (item: (quota: Quota) => string): string =>
    told.map((quota) => quoted(quota.policy) + item(quota)).join(', ')
  return {
    'RateLimit-Policy': listOf(({ guarantee, windowMs }) => {
      const window = windowMs === undefined ? '' : `;w=${Math.max(1, secondsOf(windowMs))}`
      return `;q=${whole(guarantee)}${window}`
    }),
    RateLimit: listOf(({ remaining, resetAfterMs }) => `;r=${whole(remaining)};t=${secondsOf(resetAfterMs)}`),
  }
}

/** A policy's name as it is sent: characters outside of printable ASCII become question marks. */
export function policyName(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?')
}

/** A number, rounded down, as an integer of a structured field. */
function whole(number: number): number {
  return number > 0 ? Math.min(MOST, Math.floor(number)) : 0
}

/** Whole seconds, rounded up. */
function secondsOf(ms: number): number {
  return whole(Math.ceil(ms / 1_000))
}

/** A string of a structured field. */
function quoted(name: string): string {
  return `"${policyName(name).replace(/["\\]/g, '\\$&')}"`
}
