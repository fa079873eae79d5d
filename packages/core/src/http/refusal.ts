import { type Refusal, refuse } from '../admission/refusal.js'
import type { Random } from '../random.js'
import { type Fields, policyName, rateLimitFields } from './rate-limit-fields.js'

/** A refusal in HTTP's words. What a `handler` of the user's own gets, and what is sent where there is none. */
export interface HttpRefusal {
  readonly refusal: Refusal
  /** 429: this flow is over its share. 503: the service is short for everybody, or closing. */
  readonly status: 429 | 503
  /** For `Retry-After`: whole seconds, jittered, never earlier than the refusal asks. Absent if no time is known. */
  readonly retryAfterSeconds: number | undefined
  /** `Retry-After`, where a time is known, and what is left of a budget: what every answer to it should carry. */
  readonly headers: Fields
  /** RFC 9457 problem details, as JSON text. */
  readonly body: string
}

/** Media type of {@link HttpRefusal.body}. */
export const PROBLEM_JSON = 'application/problem+json'

/** What an adapter answers when an option's function failed and `onError` says to refuse. */
export const OPTION_FAILED: Refusal = refuse('adapter', 'error', false, 1_000)

/** Somebody here is at fault, so that no policy was violated. */
const FAULTS: ReadonlySet<string> = new Set(['closed', 'error', 'store-error'])
const NOT_THE_FLOWS_FAULT: ReadonlySet<string> = new Set(['overload', 'deadline', 'too-wide', ...FAULTS])
const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types#'

/**
 * The status of a refusal: 503 where there was a shortage for everyone, or what the service cannot do in time or at all
 * is no matter of shares, or the gate or the store behind a budget is at fault; else 429.
 * So a stage of your own is answered with 429 exactly when its refusal says `shortage: false` with a word of its own.
 */
export function statusOfRefusal(refusal: Refusal): 429 | 503 {
  return refusal.shortage || NOT_THE_FLOWS_FAULT.has(refusal.reason) ? 503 : 429
}

/**
 * Whole seconds to stay away: `retryAfterMs` rounded up, and on top of it up to half as much again, at least one
 * second, by chance, so that clients refused together do not return together. Undefined if the time is not finite.
 */
export function retryAfterSeconds(retryAfterMs: number, random: Random): number | undefined {
  if (!Number.isFinite(retryAfterMs)) return undefined
  const least = Math.max(1, Math.ceil(retryAfterMs / 1_000))
  const spread = Math.max(1, Math.floor(least / 2))
  return least + Math.floor(random() * (spread + 1))
}

/**
 * Renders a refusal. The problem types are those of draft-ietf-httpapi-ratelimit-headers. `tellsRateLimit` is false if
 * the client should not hear what is left of its budget.
 */
export function httpRefusal(refusal: Refusal, random: Random, tellsRateLimit: boolean = true): HttpRefusal {
  const status = statusOfRefusal(refusal)
  const bound = refusal.reason === 'over-quota' || refusal.reason === 'never' ? 'quota' : 'fair share'
  const problem: Record<string, unknown> =
    status === 429
      ? { type: `${PROBLEM_TYPES}quota-exceeded`, title: `This client is over its ${bound}`, status }
      : { type: `${PROBLEM_TYPES}temporary-reduced-capacity`, title: 'The service is short of capacity', status }
  // A policy is what the stage stands for.
  if (!FAULTS.has(refusal.reason)) problem['violated-policies'] = [policyName(refusal.quota?.policy ?? refusal.stage)]
  const seconds = retryAfterSeconds(refusal.retryAfterMs, random)
  return {
    refusal,
    status,
    retryAfterSeconds: seconds,
    headers: {
      ...(seconds !== undefined && { 'Retry-After': `${seconds}` }),
      ...(tellsRateLimit && quotaFields(refusal)),
    },
    body: JSON.stringify(problem),
  }
}

/**
 * What is left of the quota that refused. Its time ends when it is worth asking again, which may be long before the
 * window does: what others leave is lent as time goes by. So `Retry-After` never points to a time before that.
 */
function quotaFields({ quota, retryAfterMs }: Refusal): Fields | undefined {
  if (quota === undefined) return undefined
  return rateLimitFields([{ ...quota, resetAfterMs: Math.min(quota.resetAfterMs, retryAfterMs) }], 'always')
}
