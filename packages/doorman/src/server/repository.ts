import { ALGORITHM_KINDS, type Algorithm } from '@fairlead/core/doorman'
import { requireInteger, requireNumber, requireOneOf, requireOptions, requireText, show } from '@fairlead/core/internal'
import { compileGlob, type Matches } from './glob.js'
import { requireParameters } from './rules.js'

/** The capacity of a resource, and the rule by which it is divided: an entry of the configuration. */
export interface ResourceTemplate {
  /** The name of a resource, or a glob for the names of many. */
  identifierGlob: string
  /** In the units of the resource, from 0 to 1e15. */
  capacity: number
  algorithm: Algorithm
  /**
   * The amount that a client may use when its lease has ended and no server answers, −1 for no limit; capacity /
   * clients when absent.
   */
  safeCapacity?: number
  description?: string
}

/** Templates in the order in which their globs are tried. The one for `*` is required, and comes last. */
export interface ResourceRepository {
  resources: ResourceTemplate[]
}

/** Finds the template of a resource: first the one of exactly that name, then the first whose glob matches. */
export class Templates {
  /** Copies, so that later changes of the given configuration have no effect. */
  readonly all: readonly ResourceTemplate[]
  readonly #exact = new Map<string, ResourceTemplate>()
  readonly #globs: readonly { readonly matches: Matches; readonly template: ResourceTemplate }[]

  /** Throws a `RangeError` or `TypeError` that names the invalid part and its place. */
  constructor(repository: ResourceRepository) {
    requireRepository(repository)
    this.all = structuredClone(repository.resources)
    this.#globs = this.all.map((template) => ({ matches: compileGlob(template.identifierGlob), template }))
    for (const template of this.all.toReversed()) this.#exact.set(template.identifierGlob, template)
  }

  /** `undefined` if no template matches: the required `*` does not match a name with a `/`. */
  find(resourceId: string): ResourceTemplate | undefined {
    return this.#exact.get(resourceId) ?? this.#globs.find(({ matches }) => matches(resourceId))?.template
  }
}

/** Largest capacity: sums of grants are still exact to a unit. */
const MOST_CAPACITY = 1e15
/** As a safe capacity: no limit. */
const UNLIMITED = -1

const TEMPLATE = ['identifierGlob', 'capacity', 'algorithm', 'safeCapacity', 'description']

/** Checks a configuration as a whole: throws an error that names the invalid entry. */
function requireRepository(repository: ResourceRepository): void {
  requireOptions('the resource repository', repository, ['resources'])
  const { resources } = repository
  requireList('resources', resources)
  for (const [index, template] of resources.entries()) {
    requireOptions(`resources[${index}]`, template, TEMPLATE)
    requireString(`identifierGlob of resources[${index}]`, template.identifierGlob)
  }
  const last = resources.findIndex(({ identifierGlob }) => identifierGlob === '*')
  if (last < 0) throw new RangeError('the resource repository must contain an entry for "*"')
  if (last < resources.length - 1) throw new RangeError('the entry for "*" must be the last one')
  for (const template of resources) {
    const entry = ` of ${show(template.identifierGlob)}`
    const name = (field: string): string => field + entry
    requireNumber(name('capacity'), template.capacity, 0, MOST_CAPACITY)
    if (template.safeCapacity !== undefined && template.safeCapacity !== UNLIMITED) {
      requireNumber(name('safeCapacity'), template.safeCapacity, UNLIMITED)
      if (template.safeCapacity < 0)
        throw new RangeError(`${name('safeCapacity')} must be a number >= 0, or -1, got ${show(template.safeCapacity)}`)
    }
    if (template.description !== undefined) requireString(name('description'), template.description)
    requireAlgorithm(name, template.algorithm)
  }
}

function requireList(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw new TypeError(`${name} must be a list, got ${show(value)}`)
}

function requireString(name: string, value: unknown): void {
  if (typeof value !== 'string') throw new TypeError(`${name} must be a text, got ${show(value)}`)
}

const ALGORITHM = ['kind', 'leaseLength', 'refreshInterval', 'learningModeDuration', 'parameters']

/** Throws a `RangeError` or `TypeError` that names the field, as formatted by `name`. */
export function requireAlgorithm(name: (field: string) => string, algorithm: Algorithm): void {
  requireOptions(name('algorithm'), algorithm, ALGORITHM)
  const { kind, leaseLength, refreshInterval, learningModeDuration, parameters } = algorithm
  requireOneOf(name('kind'), kind, ALGORITHM_KINDS)
  requireInteger(name('refreshInterval'), refreshInterval, 1)
  requireInteger(name('leaseLength'), leaseLength, refreshInterval)
  if (learningModeDuration !== undefined) requireInteger(name('learningModeDuration'), learningModeDuration, 0)
  requireList(name('parameters'), parameters)
  for (const parameter of parameters) {
    requireOptions(name('a parameter'), parameter, ['name', 'value'])
    requireText(name('the name of a parameter'), parameter.name)
    if (parameter.value !== undefined) requireString(name(parameter.name), parameter.value)
  }
  requireParameters(name, parameters)
}
