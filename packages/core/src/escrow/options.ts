import { type Clock, systemClock } from '../clock.js'
import {
  requireAbove,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
} from '../options.js'
import type { Reserve } from './budget.js'
import { type Hierarchy, requirePlaces } from './hierarchy.js'

/** Options of a {@link WeightedFairEscrow}. */
export interface EscrowOptions {
  /** The budget of a window, in units of cost; above 0. */
  limit: number
  /** Length of a window, in milliseconds, at least 1. Windows begin at the clock's multiples of it. */
  windowMs: number
  /**
   * `'fixed'`: each window has its own budget, so up to twice the limit may be used within a short time, at the end of
   * one and the start of the next. `'sliding'`: no span of `windowMs` sees more than the limit; used budget becomes
   * free again a window's length later, in steps of 128ths of it. @default 'fixed'
   */
  window?: 'fixed' | 'sliding'
  /**
   * A tenant's weight relative to others, of its group if there is a tree; from 1e-9 to 1e12. Called at every check.
   * @default that of the tree, else 1
   */
  weightOf?: (tenant: string) => number
  /**
   * Most active tenants that are known by name, and one more that all others share, with weight 1; in a tree, one more
   * in each group, and without those that the tree names. Bounds memory, and the gain by invented names. Integer, at
   * least 1: all tenants share. @default 10000
   */
  maxTenants?: number
  /**
   * The amount reserved for tenants that were active and fell silent. `'paced'`: the rest of an even pace, so that the
   * passed part is lent to others over time. `'strict'`: the whole guarantee, until the window ends. @default 'paced'
   */
  reserve?: Reserve
  /**
   * The amount that is spent for a cost until it is settled. `'learned'`: the recent ratio of settled to requested
   * costs of the tenant, once there are eight and most of its admitted costs are settled. `'asked'`: the cost. @default
   * 'learned'
   */
  estimates?: 'learned' | 'asked'
  /** Groups of tenants that share with each other first; made by `hierarchy`. @default all are in one group */
  tree?: Hierarchy
  /**
   * The name of the group of a tenant that the tree does not name; undefined: it is refused, as `unknown`. Called at
   * every check. @default all of them are refused
   */
  groupOf?: (tenant: string) => string | undefined
}

/** Names of the options above. */
const ESCROW_OPTIONS: readonly string[] = [
  ...['limit', 'windowMs', 'window', 'weightOf', 'maxTenants', 'reserve', 'estimates', 'tree', 'groupOf'],
]

/** A gate's budget. */
export interface BudgetOptions extends EscrowOptions {
  /** The answer to a request for which `weightOf` threw, or returned a bad weight. @default 'admit' */
  onError?: 'admit' | 'refuse'
  /**
   * Judges without refusing: a request that would have been refused passes, spends nothing, and is counted in the
   * snapshot as `wouldRefuse`. @default false
   */
  dryRun?: boolean
}

/** Names of the options above, for callers that pass them on. */
export const BUDGET_OPTIONS: readonly string[] = [...ESCROW_OPTIONS, 'onError', 'dryRun']

/** External dependencies of an escrow. */
export interface EscrowSeams {
  /** @default the platform's monotonic clock */
  clock?: Clock
}

/** Checked options, with every default in its place. */
interface EscrowSettings extends Required<Omit<EscrowOptions, 'weightOf' | 'tree' | 'groupOf'>> {
  readonly weightOf: ((tenant: string) => number) | undefined
  readonly tree: Hierarchy | undefined
  readonly groupOf: ((tenant: string) => string | undefined) | undefined
  readonly clock: Clock
}

/** Checks the options. Throws a `RangeError` or `TypeError` that names the option and its value. */
export function settingsOf(options: EscrowOptions & EscrowSeams): EscrowSettings {
  requireOptions('escrow', options, [...ESCROW_OPTIONS, 'clock'])
  const { limit, windowMs, window = 'fixed', weightOf, maxTenants = 10_000, reserve = 'paced' } = options
  const { estimates = 'learned', tree, groupOf, clock = systemClock } = options
  requireLimit(limit)
  requireNumber('windowMs', windowMs, 1, Number.MAX_SAFE_INTEGER)
  if (weightOf !== undefined) requireFunction('weightOf', weightOf)
  requireInteger('maxTenants', maxTenants, 1)
  requireOneOf('reserve', reserve, ['strict', 'paced'])
  requireOneOf('estimates', estimates, ['learned', 'asked'])
  requireOneOf('window', window, ['fixed', 'sliding'])
  requirePlaces(tree, groupOf)
  requireFunction('clock', clock)
  return { limit, windowMs, window, weightOf, maxTenants, reserve, estimates, tree, groupOf, clock }
}

/** Checks a limit. */
export function requireLimit(limit: unknown): void {
  requireAbove('limit', limit, 0, Number.MAX_SAFE_INTEGER)
}

/** Checks a tenant's name. */
export function requireTenant(tenant: unknown): void {
  if (typeof tenant !== 'string' || tenant === '') requireText('tenant', tenant)
}

/** Checks a cost above 0; a settlement's may be 0. */
export function requireCost(cost: unknown): void {
  if (typeof cost === 'number' && cost > 0 && cost <= Number.MAX_SAFE_INTEGER) return
  requireAbove('cost', cost, 0, Number.MAX_SAFE_INTEGER)
}
