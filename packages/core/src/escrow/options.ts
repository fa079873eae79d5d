import { type Clock, systemClock } from '../clock.js'
import {
  requireAbove,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
  show,
} from '../options.js'
import type { Reserve } from './budget.js'
import { isWeight, requireWeight } from './shares.js'

/** How a {@link WeightedFairEscrow} is made up. */
export interface EscrowOptions {
  /** The budget of a window, in units of cost; above 0. */
  limit: number
  /** Length of a window, in milliseconds, at least 1. Windows begin at the clock's multiples of it. */
  windowMs: number
  /** A tenant's weight relative to others, from 1e-9 to 1e12. Asked at every check. @default 1 for everybody */
  weightOf?: (tenant: string) => number
  /**
   * Active tenants that are known by name, and one more that all others share, with weight 1. Bounds memory, and what
   * invented names can win. Integer, at least 1: everybody shares. @default 10000
   */
  maxTenants?: number
  /**
   * What is kept for tenants that were active and fell silent. `'paced'`: what is still due to an even pace, so that
   * the rest of it is lent to others as time goes by. `'strict'`: all of their guarantee, until the window ends.
   * @default 'paced'
   */
  reserve?: Reserve
  /**
   * What is spent for a cost until it is settled. `'learned'`: what the tenant's settlements lately came to, as a part
   * of what it had asked with, once there are eight and most of what it is admitted is settled. `'asked'`: the cost.
   * @default 'learned'
   */
  estimates?: 'learned' | 'asked'
}

/** Names of the options above. */
const ESCROW_OPTIONS: readonly string[] = ['limit', 'windowMs', 'weightOf', 'maxTenants', 'reserve', 'estimates']

/** A gate's budget. */
export interface BudgetOptions extends EscrowOptions {
  /** What becomes of a request about which `weightOf` threw, or gave a bad weight. @default 'admit' */
  onError?: 'admit' | 'refuse'
}

/** Names of the options above, for whoever passes them on. */
export const BUDGET_OPTIONS: readonly string[] = [...ESCROW_OPTIONS, 'onError']

/** What an escrow takes from the world. */
export interface EscrowSeams {
  /** @default the platform's monotonic clock */
  clock?: Clock
}

/** Options that were checked, with every default in its place. */
export interface EscrowSettings extends Required<Omit<EscrowOptions, 'weightOf'>> {
  readonly weightOf: ((tenant: string) => number) | undefined
  readonly clock: Clock
}

/** Checks the options. Throws a `RangeError` or `TypeError` that names the option and its value. */
export function settingsOf(options: EscrowOptions & EscrowSeams): EscrowSettings {
  requireOptions('escrow', options, [...ESCROW_OPTIONS, 'clock'])
  const { limit, windowMs, weightOf, maxTenants = 10_000, reserve = 'paced' } = options
  const { estimates = 'learned', clock = systemClock } = options
  requireAbove('limit', limit, 0, Number.MAX_SAFE_INTEGER)
  requireNumber('windowMs', windowMs, 1, Number.MAX_SAFE_INTEGER)
  if (weightOf !== undefined) requireFunction('weightOf', weightOf)
  requireInteger('maxTenants', maxTenants, 1)
  requireOneOf('reserve', reserve, ['strict', 'paced'])
  requireOneOf('estimates', estimates, ['learned', 'asked'])
  requireFunction('clock', clock)
  return { limit, windowMs, weightOf, maxTenants, reserve, estimates, clock }
}

/** The tenant's weight, checked. Throws what `weightOf` throws. */
export function weightFrom(weightOf: ((tenant: string) => number) | undefined, tenant: string): number {
  if (weightOf === undefined) return 1
  const weight = weightOf(tenant)
  if (!isWeight(weight)) requireWeight(`weightOf(${show(tenant)})`, weight)
  return weight
}

/** Checks for a tenant's name. */
export function requireTenant(tenant: unknown): void {
  if (typeof tenant !== 'string' || tenant === '') requireText('tenant', tenant)
}

/** Checks for a cost above 0; what a settlement says may be 0. */
export function requireCost(cost: unknown): void {
  if (typeof cost === 'number' && cost > 0 && cost <= Number.MAX_SAFE_INTEGER) return
  requireAbove('cost', cost, 0, Number.MAX_SAFE_INTEGER)
}
