import type { Algorithm, AlgorithmKind, NamedParameter } from '@fairlead/core/doorman'
import { requireBoolean, requireInteger, requireNumber, requireOneOf, requireOptions } from '@fairlead/core/internal'

/** An algorithm, parsed once: how a resource is divided at one level of the tree. */
export interface Rules {
  readonly algorithm: Algorithm
  readonly kind: AlgorithmKind
  readonly leaseLengthSeconds: number
  readonly refreshSeconds: number
  readonly learningSeconds: number
  /**
   * The defects of the published server, on request: two rounds of FAIR_SHARE, and leases echoed during the learning
   * mode.
   */
  readonly published: boolean
  /** A reduced lease counts at its old size until the holder has shown the new one. */
  readonly confirm: boolean
  /** Head-room above the wants, as a part of them, while capacity is left. */
  readonly headroom: number
  /** Weights count. */
  readonly weighted: boolean
  /** A higher priority counts as this one: the highest that is configured or has a minimum share; else 0. */
  readonly highestPriority: number
  /** By priority: the part of the capacity that a band gets before the bands above it. */
  readonly minimumShares: ReadonlyMap<number, number>
  /** The refresh interval of the next level up the tree, as a part of this one's. */
  readonly decayFactor: number
}

const DEFAULTS = {
  compatible: '',
  confirm: true,
  headroom: 0.1,
  weighted: false,
  decay_factor: 0.5,
  highest_priority: 0,
}
const MINIMUM_SHARE = 'minimum_share:'

/**
 * Reads an algorithm whose parameters were checked with {@link requireParameters}. Unknown parameters are ignored: a
 * parent may be newer than its children.
 */
export function rulesOf(algorithm: Algorithm): Rules {
  const { kind, leaseLength, refreshInterval, learningModeDuration = leaseLength } = algorithm
  const values = { ...DEFAULTS, ...read(algorithm.parameters) }
  const minimumShares = minimumSharesOf(algorithm.parameters)
  const { compatible, confirm, headroom, weighted, decay_factor, highest_priority } = values
  return {
    algorithm,
    kind,
    leaseLengthSeconds: leaseLength,
    refreshSeconds: refreshInterval,
    learningSeconds: learningModeDuration,
    published: compatible === 'published',
    confirm: confirm === true,
    headroom: Number(headroom),
    weighted: weighted === true,
    highestPriority: Math.max(Number(highest_priority), ...minimumShares.keys()),
    minimumShares,
    decayFactor: Number(decay_factor),
  }
}

/** The algorithm of the next level up the tree: the refresh interval decays, the rest stays. */
export function decayed(algorithm: Algorithm): Algorithm {
  const { decayFactor, refreshSeconds } = rulesOf(algorithm)
  return { ...algorithm, refreshInterval: Math.max(1, Math.floor(refreshSeconds * decayFactor)) }
}

/** Throws a `RangeError` or `TypeError` on a parameter that is unknown or has a bad value. */
export function requireParameters(name: (field: string) => string, parameters: readonly NamedParameter[]): void {
  if (parameters.length === 0) return
  const values = read(parameters.filter((parameter) => !parameter.name.startsWith(MINIMUM_SHARE)))
  requireOptions(name('parameters'), values, Object.keys(DEFAULTS))
  const { compatible, confirm, headroom, weighted, decay_factor, highest_priority } = { ...DEFAULTS, ...values }
  if (compatible !== '') requireOneOf(name('compatible'), compatible, ['published'])
  requireBoolean(name('confirm'), confirm)
  requireNumber(name('headroom'), headroom, 0, 1)
  requireBoolean(name('weighted'), weighted)
  requireNumber(name('decay_factor'), decay_factor, 0.01, 1)
  requireInteger(name('highest_priority'), highest_priority, Number.MIN_SAFE_INTEGER)
  let sum = 0
  for (const [priority, share] of minimumSharesOf(parameters)) {
    requireInteger(name(`the priority in ${MINIMUM_SHARE}`), priority, Number.MIN_SAFE_INTEGER)
    requireNumber(name(`${MINIMUM_SHARE}${priority}`), share, 0, 1)
    sum += share
  }
  requireNumber(name('the sum of minimum shares'), sum, 0, 1)
}

/** The parameters that this version knows. */
export function knownParameters(parameters: readonly NamedParameter[]): NamedParameter[] {
  return parameters.filter(({ name }) => Object.hasOwn(DEFAULTS, name) || name.startsWith(MINIMUM_SHARE))
}

/** The parsed values: on the wire there is only text. */
function read(parameters: readonly NamedParameter[]): Record<string, string | number | boolean> {
  const meant = ({ value = '' }: NamedParameter): string | number | boolean => {
    if (value === 'true' || value === 'false') return value === 'true'
    const number = Number(value)
    return value.trim() === '' || Number.isNaN(number) ? value : number
  }
  return Object.fromEntries(parameters.map((parameter) => [parameter.name, meant(parameter)]))
}

function minimumSharesOf(parameters: readonly NamedParameter[]): Map<number, number> {
  const shares = new Map<number, number>()
  for (const { name, value = '' } of parameters)
    if (name.startsWith(MINIMUM_SHARE))
      shares.set(Number(name.slice(MINIMUM_SHARE.length) || Number.NaN), Number(value || Number.NaN))
  return shares
}
