import type { Clock } from '@fairlead/core'
import { WeightedFairEscrow } from '@fairlead/core/escrow'
import { PublishedRule } from './published-rule.js'

/** Admits a request, or tells when to come back. */
export interface Rule {
  check(tenant: string, cost: number): Answer
}

export interface Answer {
  readonly allowed: boolean
  readonly retryAfterMs: number
}

/** Parameters of a rule, for one window. */
export interface Terms {
  readonly limit: number
  readonly windowMs: number
  readonly clock: Clock
  weightOf(tenant: string): number
}

export type RuleOf = (terms: Terms) => Rule

/** The published rule, in both of its readings, and ours in both forms. */
export const WAYS = ['excess', 'whole', 'strict', 'paced'] as const
export type Way = (typeof WAYS)[number]

export const RULES: Readonly<Record<Way, RuleOf>> = {
  excess: ({ limit, windowMs, weightOf }) => new PublishedRule(limit, windowMs, weightOf, 'excess'),
  whole: ({ limit, windowMs, weightOf }) => new PublishedRule(limit, windowMs, weightOf, 'whole'),
  strict: (terms) => new WeightedFairEscrow({ ...terms, reserve: 'strict' }),
  paced: (terms) => new WeightedFairEscrow({ ...terms, reserve: 'paced' }),
}

/** One counter, first come, first served: the upper bound of utilisation, without fairness. */
export const plainCounter: RuleOf = ({ limit, windowMs }) => {
  let left = limit
  return {
    check(_tenant, cost) {
      const allowed = cost <= left
      if (allowed) left -= cost
      return { allowed, retryAfterMs: allowed ? 0 : windowMs / 20 }
    },
  }
}

/** Names in tables and pictures. */
export const TITLES: Readonly<Record<Way, string>> = {
  excess: 'published, excess',
  whole: 'published, whole call',
  strict: 'ours, strict',
  paced: 'ours, paced (default)',
}
