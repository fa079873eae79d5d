import type { Reserve } from './budget.js'

/** An escrow's state, as plain JSON. */
export interface EscrowSnapshot {
  readonly limit: number
  readonly windowMs: number
  readonly reserve: Reserve
  /** Of this window. */
  readonly used: number
  readonly remaining: number
  /** Of what remains, what is kept for the guarantees of the active. */
  readonly reserved: number
  /** What a weight of 1 is guaranteed; 0 while nobody is active. */
  readonly level: number
  /** Active tenants: those that were admitted in this window. */
  readonly tenants: number
  /** Their weights, summed up. */
  readonly weight: number
  /** Tenants that were refused within the last tenth of a window. */
  readonly waiting: number
  readonly resetAtMs: number
  /** Since the escrow was made. */
  readonly allowed: number
  readonly borrowed: number
  readonly refused: number
  /** The active tenants that used most in this window, at most 20. */
  readonly heaviest: readonly EscrowTenant[]
}

/** An active tenant, as plain JSON. */
export interface EscrowTenant {
  /** `''` is shared by all that came too late to be known by name. */
  readonly tenant: string
  readonly weight: number
  readonly used: number
  readonly guarantee: number
  /** Refused within the last tenth of a window. */
  readonly waiting: boolean
}
