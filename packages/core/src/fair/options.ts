import { sharedSettings } from '#processes'
import { type Clock, systemClock } from '../clock.js'
import {
  by,
  type Check,
  fail,
  requireAbove,
  requireFunction,
  requireGiven,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
} from '../options.js'
import type { Random } from '../random.js'
import type { BlueExplanation, BlueState } from './blue.js'
import type { FairRule } from './rule.js'
import type { ClockLink } from './shared/report.js'

/** The rules that FAIR can follow: see docs/fair.md. */
export type FairRuleName = 'fair-clock' | 'blue'

/** Options of rule `fair-clock`. */
export interface ClockOptions {
  /** @default 'fair-clock' */
  rule?: 'fair-clock'
  /** Levels of the sketch. Integer, at least 1. @default 4 */
  levels?: number
  /** Cells in each level; more of them, fewer innocent flows caught. Integer, at least 1. @default 4096 */
  bucketsPerLevel?: number
  /**
   * Time between two changes of the hash seeds, in milliseconds; `Infinity` means never. A flow without an admission
   * for between ten and twenty of these is a newcomer in a shortage; sooner if more than some 30 000 flows were
   * admitted. @default 60000
   */
  rotateEveryMs?: number
  /** Ordinary requests that a flow may save while it asks for less than its share; at least 1. @default 12 */
  credit?: number
  /**
   * Amount above the measured capacity that is tried, as a share of it: a larger one finds growth sooner and leaves
   * less unused, and costs failures. 0 to 1. @default 0.02
   */
  probe?: number
  /**
   * A flow's weight relative to others, from 1e-9 to 1e12: its multiple of a share in a shortage. Called at every
   * request, so it should be fast. @default 1 for every flow
   */
  weightOf?: (flow: string) => number
  /**
   * Several processes before one resource share one clock, by an arbiter; `false`: each has its own. Without a name,
   * only the first tracker of a process shares. @default automatic: by the primary of `node:cluster`
   */
  shared?: SharedOptions | false
}

/** How processes before one resource share one clock. */
export interface SharedOptions {
  /**
   * Names the resource: all processes with this name and the same arbiter share. The link receives it with `%2F` for
   * `/`, and `%25` for `%`; after a `/` follows the `resource` of requests that name one. @default 'default'
   */
  name?: string
  /** @internal The part of it with its own clock. */
  resource?: string
  /**
   * The connection to the arbiter. @default the primary's, in a worker of `node:cluster` or a worker thread; else none
   */
  link?: ClockLink
}

/** Rule `blue` as a value, created by `blue()`: checked options, with the code for them. */
export interface BlueRule {
  readonly rule: 'blue'
  readonly rotateEveryMs: number
  /** @internal */
  make(random: Random | undefined, nowMs: number): FairRule<BlueExplanation, BlueState>
}

/** Options of FAIR: those of rule `fair-clock`, or the result of `blue()`. */
export type FairOptions<R extends FairRuleName = FairRuleName> = {
  'fair-clock': ClockOptions
  blue: BlueRule
}[R]

/** External dependencies. */
export interface FairSeams {
  /** @default the platform's monotonic clock */
  clock?: Clock
  /** Source of seeds and coins: keep it secret. @default the platform's cryptographic generator */
  random?: Random
}

/** Checked options of rule `fair-clock`, with every default in its place. */
export interface ClockSettings extends Required<Omit<ClockOptions, 'weightOf' | 'shared'>> {
  readonly weightOf: ((flow: string) => number) | undefined
  /** Undefined if this process has a clock of its own. */
  readonly shared: SharedSettings | undefined
}

/** A clock that is shared, and the link to its arbiter. */
export interface SharedSettings extends SharedOptions {
  readonly name: string
  readonly link: ClockLink
}

const MOST_BUCKETS = 2 ** 27

/** The checks of options that both rules have. */
export const SKETCH_CHECKS: Readonly<Record<'levels' | 'bucketsPerLevel' | 'rotateEveryMs', Check>> = {
  levels: by(requireInteger, 1),
  bucketsPerLevel: by(requireInteger, 1),
  rotateEveryMs: (name, value) => value === Number.POSITIVE_INFINITY || requireAbove(name, value, 0),
}

const CLOCK_CHECKS: Readonly<Record<keyof ClockOptions, Check>> = {
  rule: by(requireOneOf, ['fair-clock', 'blue']),
  ...SKETCH_CHECKS,
  credit: by(requireNumber, 1),
  probe: by(requireNumber, 0, 1),
  weightOf: requireFunction,
  shared: (name, shared) => shared === false || requireShared(name, shared),
}

const SHARED_CHECKS: Readonly<Record<keyof SharedOptions, Check>> = {
  name: requireText,
  resource: requireText,
  link: requireLink,
}

/** Checks for the link to an arbiter. */
export function requireLink(name: string, link: unknown): void {
  requireFunction(`${name}.join`, (link as Partial<ClockLink> | null)?.join)
}

function requireShared(name: string, shared: unknown): void {
  requireOptions(name, shared, Object.keys(SHARED_CHECKS))
  requireGiven(SHARED_CHECKS, shared as object, `${name}.`)
}

/** Checks that `options` are options of their rule, or `seams`, and nothing else. */
export function requireFairOptions(options: unknown, seams: Readonly<Record<string, Check>> = {}): void {
  const { rule, make }: Partial<BlueRule> = options ?? {}
  const known = rule === 'blue' ? ['rule', 'rotateEveryMs', 'make'] : Object.keys(CLOCK_CHECKS)
  requireOptions('fair', options, [...known, ...Object.keys(seams)])
  requireGiven({ ...CLOCK_CHECKS, ...seams }, options as object, 'fair.')
  if (rule === 'blue' && typeof make !== 'function') fail("fair with rule 'blue'", 'made by blue()', options)
}

const SEAMS: Readonly<Record<keyof FairSeams, Check>> = { clock: requireFunction, random: requireFunction }

/** All options with their defaults. Throws a `RangeError` or `TypeError` that names the option and its value. */
export function resolveFairOptions(options: FairOptions & FairSeams): {
  clock: Clock
  random: Random | undefined
  settings: ClockSettings | BlueRule
} {
  requireFairOptions(options, SEAMS)
  const { clock = systemClock, random } = options
  if (options.rule === 'blue') return { clock, random, settings: options }
  const { levels = 4, bucketsPerLevel = 4096, rotateEveryMs = 60_000, credit = 12, probe = 0.02, weightOf } = options
  requireBuckets(levels, bucketsPerLevel)
  const shared = sharedSettings(options.shared, clock === systemClock)
  const settings: ClockSettings = {
    rule: 'fair-clock',
    levels,
    bucketsPerLevel,
    rotateEveryMs,
    credit,
    probe,
    weightOf,
    shared,
  }
  return { clock, random, settings }
}

/** Bounds the memory of a sketch. */
export function requireBuckets(levels: number, bucketsPerLevel: number): void {
  requireNumber('fair.levels × fair.bucketsPerLevel', levels * bucketsPerLevel, 1, MOST_BUCKETS)
}
