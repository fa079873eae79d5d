import type { Algorithm, AlgorithmKind, NamedParameter } from '@fairlead/core/doorman'
import { requireOptions, show } from '@fairlead/core/http'
import { parse } from 'yaml'
import type { ResourceRepository, ResourceTemplate } from '../server/index.js'

/**
 * Reads the published form of a configuration, YAML with the field names of `ResourceRepository`. Throws an error that
 * names the entry and the field. `DoormanServer` checks the values itself.
 */
export function repositoryFrom(text: string): ResourceRepository {
  return repositoryOf(parse(text))
}

/** The same for YAML that is already parsed. */
export function repositoryOf(document: unknown): ResourceRepository {
  requireOptions('the configuration', document, ['resources'])
  const { resources } = document as { resources?: unknown }
  return { resources: listOf('resources', resources).map((entry, index) => templateFrom(`resources[${index}]`, entry)) }
}

const TEMPLATE = ['identifier_glob', 'capacity', 'safe_capacity', 'description', 'algorithm']
const ALGORITHM = ['kind', 'lease_length', 'refresh_interval', 'learning_mode_duration', 'parameters']

function templateFrom(path: string, entry: unknown): ResourceTemplate {
  const fields = fieldsOf(path, entry, TEMPLATE)
  const safeCapacity = fields.optional('safe_capacity', 'number')
  const description = fields.optional('description', 'string')
  return {
    identifierGlob: fields.required('identifier_glob', 'string'),
    capacity: fields.required('capacity', 'number'),
    algorithm: algorithmFrom(`${path}.algorithm`, fields.raw('algorithm')),
    ...(safeCapacity === undefined ? {} : { safeCapacity }),
    ...(description === undefined ? {} : { description }),
  }
}

function algorithmFrom(path: string, entry: unknown): Algorithm {
  if (entry === undefined) throw new TypeError(`${path} must be there: how is the resource divided?`)
  const fields = fieldsOf(path, entry, ALGORITHM)
  const learningModeDuration = fields.optional('learning_mode_duration', 'number')
  const parameters = fields.raw('parameters') ?? []
  return {
    // The server rejects an unknown kind by its name when it takes the configuration.
    kind: fields.required('kind', 'string') as AlgorithmKind,
    leaseLength: fields.required('lease_length', 'number'),
    refreshInterval: fields.required('refresh_interval', 'number'),
    parameters: listOf(`${path}.parameters`, parameters).map((each, index) =>
      parameterFrom(`${path}.parameters[${index}]`, each),
    ),
    ...(learningModeDuration === undefined ? {} : { learningModeDuration }),
  }
}

/** Values are text on the wire; YAML may also give them as numbers or booleans. */
function parameterFrom(path: string, entry: unknown): NamedParameter {
  const fields = fieldsOf(path, entry, ['name', 'value'])
  const value = fields.raw('value')
  if (value !== undefined && typeof value === 'object')
    throw new TypeError(`${path}.value must be one value, got ${show(value)}`)
  return { name: fields.required('name', 'string'), ...(value === undefined ? {} : { value: String(value) }) }
}

function listOf(path: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`${path} must be a list, got ${show(value)}`)
  return value
}

interface Kinds {
  number: number
  string: string
}

function fieldsOf(path: string, entry: unknown, known: readonly string[]) {
  requireOptions(path, entry, known)
  const values = new Map<string, unknown>(Object.entries(entry as object))
  function raw(name: string): unknown {
    return values.get(name) ?? undefined
  }
  function required<Kind extends keyof Kinds>(name: string, kind: Kind): Kinds[Kind] {
    const value = raw(name)
    if (typeof value !== kind) throw new TypeError(`${path}.${name} must be a ${kind}, got ${show(value)}`)
    return value as Kinds[Kind]
  }
  function optional<Kind extends keyof Kinds>(name: string, kind: Kind): Kinds[Kind] | undefined {
    return raw(name) === undefined ? undefined : required(name, kind)
  }
  return { raw, required, optional }
}
