import type { Quota } from '../admission/decision.js'

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

/** A policy's name as it is sent: characters outside of printable ASCII become question marks. */
export function policyName(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?')
}

function windowOf({ windowMs }: Quota): string {
  return windowMs === undefined ? '' : `;w=${Math.max(1, whole(Math.ceil(windowMs / 1000)))}`
}

/** A whole number as an integer of a structured field. */
export function whole(number: number): number {
  return number > 0 ? Math.min(MOST, number) : 0
}

/** A string of a structured field. */
function quoted(name: string): string {
  return `"${policyName(name).replace(/["\\]/g, '\\$&')}"`
}
