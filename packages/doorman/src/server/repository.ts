import { ALGORITHM_KINDS, type Algorithm } from '@fairlead/core/doorman'
import { requireInteger, requireNumber, requireOneOf, requireText, show } from '@fairlead/core/internal'
import { compileGlob, type Matches } from './glob.js'
import { requireParameters } from './rules.js'

/** What a resource offers, and by which rule it is divided: an entry of the configuration. */
export interface ResourceTemplate {
  /** The name of a resource, or a glob for the names of many. */
  identifierGlob: string
  /** In the units of the resource. */
  capacity: number
  algorithm: Algorithm
  /** What a client may use when its lease has run out and nobody answers; capacity / clients when absent. */
  safeCapacity?: number
  description?: string
}

/** Templates in the order in which their globs are tried. The one for `*` must be there, and last. */
export interface ResourceRepository {
  resources: ResourceTemplate[]
}

/** Finds the template of a resource: first one of exactly that name, then the first whose glob matches. */
export class Templates {
  /** Copies: what becomes of the configuration that was given does not matter. */
  readonly all: readonly ResourceTemplate[]
  readonly #exact = new Map<string, ResourceTemplate>()
  readonly #globs: readonly { readonly matches: Matches; readonly template: ResourceTemplate }[]

  /** Throws a `RangeError` or `TypeError` that names what is wrong, and where. */
  constructor(repository: ResourceRepository) {
    requireRepository(repository)
    this.all = structuredClone(repository.resources)
    this.#globs = this.all.map((template) => ({ matches: compileGlob(template.identifierGlob), template }))
    for (const template of this.all.toReversed()) this.#exact.set(template.identifierGlob, template)
  }

  /** `undefined` when no template matches: the `*` that must be there does not match a name with a `/`. */
  find(resourceId: string): ResourceTemplate | undefined {
    return this.#exact.get(resourceId) ?? this.#globs.find(({ matches }) => matches(resourceId))?.template
  }
}

/** Checks a configuration as a whole: throws, naming the entry, and nothing of it counts. */
function requireRepository({ resources }: ResourceRepository): void {
  const last = resources.findIndex(({ identifierGlob }) => identifierGlob === '*')
  if (last < 0) throw new RangeError('the resource repository must contain an entry for "*"')
  if (last < resources.length - 1) throw new RangeError('the entry for "*" must be the last one')
  for (const template of resources) {
    const entry = ` of ${show(template.identifierGlob)}`
    const name = (field: string): string => field + entry
    requireNumber(name('capacity'), template.capacity, 0)
    if (template.safeCapacity !== undefined) requireNumber(name('safeCapacity'), template.safeCapacity, -1)
    requireAlgorithm(name, template.algorithm)
  }
}

/** Throws a `RangeError` or `TypeError` that names the field, as `name` has it. */
export function requireAlgorithm(name: (field: string) => string, algorithm: Algorithm): void {
  const { kind, leaseLength, refreshInterval, learningModeDuration } = algorithm
  requireOneOf(name('kind'), kind, ALGORITHM_KINDS)
  requireInteger(name('refreshInterval'), refreshInterval, 1)
  requireInteger(name('leaseLength'), leaseLength, refreshInterval)
  if (learningModeDuration !== undefined) requireInteger(name('learningModeDuration'), learningModeDuration, 0)
  for (const parameter of algorithm.parameters) requireText(name('a parameter'), parameter.name)
  requireParameters(name, algorithm.parameters)
}
