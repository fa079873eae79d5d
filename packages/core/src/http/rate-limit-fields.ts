import type { Quota } from '../admission/decision.js'

/** Names and values of fields, ready to be sent. */
export type Fields = Readonly<Record<string, string>>

/** A quota is nearly exhausted if less than this share of its ceiling remains. */
const NEAR = 1 / 10
/** The largest integer of a structured field (RFC 9651). */
const MOST = 999_999_999_999_999

/**
 * `RateLimit-Policy` and `RateLimit`, by draft-ietf-httpapi-ratelimit-headers-11: a list of the quotas that are nearly
 * exhausted, or of all. Undefined if there is nothing to tell.
 *
 * `q` is what the flow is guaranteed in a window of `w` seconds; `r` what is admitted if it is asked next; after `t`
 * seconds that is void. All are whole: quotas rounded down, so that nobody is told more than is so, times up. No
 * partition key is sent: readers of the fields could tell clients apart by it. Where nothing is near exhaustion a
 * figure may stall a client that need not wait.
 */
export function rateLimitFields(quotas: readonly Quota[], when: 'near' | 'always'): Fields | undefined {
  const policies: string[] = []
  const states: string[] = []
  for (const quota of quotas) {
    const remaining = whole(Math.floor(quota.remaining))
    if (when === 'near' && quota.remaining >= NEAR * quota.limit && remaining > 0) continue
    const name = quoted(quota.policy)
    policies.push(`${name};q=${whole(Math.floor(quota.guarantee))}${windowOf(quota)}`)
    states.push(`${name};r=${remaining};t=${whole(Math.ceil(quota.resetAfterMs / 1000))}`)
  }
  return policies.length === 0 ? undefined : { 'RateLimit-Policy': policies.join(', '), RateLimit: states.join(', ') }
}

/** A policy's name as it is sent: of printable ASCII characters, others are question marks. */
export function policyName(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?')
}

function windowOf({ windowMs }: Quota): string {
  return windowMs === undefined ? '' : `;w=${Math.max(1, whole(Math.ceil(windowMs / 1000)))}`
}

function whole(number: number): number {
  return number > 0 ? Math.min(MOST, number) : 0
}

/** A string of a structured field. */
function quoted(name: string): string {
  return `"${policyName(name).replace(/["\\]/g, '\\$&')}"`
}
