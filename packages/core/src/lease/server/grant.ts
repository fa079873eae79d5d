/**
 * What a client is given: what it should have in the end, as far as others cannot be using it. When they may be using
 * more than there is, it gives up what is missing, and no more.
 */
export function clientGrant(target: number, free: number, leased: number): number {
  return free >= 0 ? Math.min(target, free) : Math.max(0, Math.min(target, leased + free))
}

/** What a server is given: the same, but not less than `floor`, which its own children may be using. */
export function serverGrant(target: number, free: number, floor: number): number {
  return Math.max(Math.min(target, Math.max(0, free)), floor)
}
