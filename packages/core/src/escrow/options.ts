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

/** How a {@link WeightedFairEscrow} is made up. */
export interface EscrowOptions {
  /** The budget of a window, in units of cost; above 0. */
  limit: number
  /** Length of a window, in milliseconds, at least 1. Windows begin at the clock's multiples of it. */
  windowMs: number
  /**
   * `'fixed'`: each window has its own budget, so as much as twice the limit may come within a short time, at the end
   * of one and the start of the next. `'sliding'`: no span of `windowMs`, whenever it begins, sees more than the limit;
   * what is used becomes free again a window's length later, by 128ths of it. @default 'fixed'
   */
  window?: 'fixed' | 'sliding'
  /**
   * A tenant's weight relative to others, of its group if there is a tree; from 1e-9 to 1e12. Asked at every check.
   * @default what the tree says, else 1
   */
  weightOf?: (tenant: string) => number
  /**
   * Active tenants that are known by name, and one more that all others share, with weight 1; in a tree, one more in
   * each group, and without those that the tree names. Bounds memory, and what invented names can win. Integer, at
   * least 1: everybody shares. @default 10000
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
  /** Groups of tenants that share with each other first; made by `hierarchy`. @default all are in one group */
  tree?: Hierarchy
  /**
   * The name of the group of a tenant that the tree does not name; undefined: it is refused, as `unknown`. Asked at
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
  /** What becomes of a request about which `weightOf` threw, or gave a bad weight. @default 'admit' */
  onError?: 'admit' | 'refuse'
  /**
   * Judges, and refuses nobody: what would have been refused passes, spends nothing, and is counted in the snapshot as
   * `wouldRefuse`. @default false
   */
  dryRun?: boolean
}

/** Names of the options above, for whoever passes them on. */
export const BUDGET_OPTIONS: readonly string[] = [...ESCROW_OPTIONS, 'onError', 'dryRun']

/** What an escrow takes from the world. */
export interface EscrowSeams {
  /** @default the platform's monotonic clock */
  clock?: Clock
}

/** Options that were checked, with every default in its place. */
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

/** Checks for a limit. */
export function requireLimit(limit: unknown): void {
  requireAbove('limit', limit, 0, Number.MAX_SAFE_INTEGER)
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
