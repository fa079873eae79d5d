import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { CapacityError, type CapacityService } from '@fairlead/core/doorman'
import { requireBoolean, requireInteger, requireOptions, requireText, show } from '@fairlead/core/http'
import { parse } from 'yaml'
import { compileGlob, type Matches } from './server/index.js'

/** A permitted caller and its rights. It is identified by a token or a certificate; one of both is enough. */
export interface AccessRule {
  /**
   * Name of the caller, without `/`. Its clients are known under this name, so it cannot act for clients of another
   * rule.
   */
  name: string
  /** Sent as `authorization: Bearer …`; at least 16 characters. */
  token?: string
  /** A glob for the names in a client's certificate: its common name, or a DNS name. Needs `tls.clientCa`. */
  certificate?: string
  /** Globs of the permitted resources. @default all */
  resources?: readonly string[]
  /** The highest permitted priority, if the configuration lets priorities count. @default 0 */
  highestPriority?: number
  /** Globs of the nodes of the tree for which it may act. @default none: it has only clients */
  servers?: readonly string[]
  /** May see the status page and the metrics. @default false */
  pages?: boolean
}

/** A caller's credentials. */
export interface Credentials {
  /** The header `authorization`. */
  readonly authorization: string | undefined
  /** The names in the client's certificate, if our authority signed it. */
  readonly names: readonly string[]
}

/** A rule, prepared for lookups. */
interface Rule {
  readonly name: string
  readonly token: string | undefined
  readonly certificate: Matches | undefined
  readonly resources: readonly Matches[] | undefined
  readonly highestPriority: number
  readonly servers: readonly Matches[]
  readonly pages: boolean
}

const OPTIONS = ['name', 'token', 'certificate', 'resources', 'highestPriority', 'servers', 'pages']
const SHORTEST_TOKEN = 16

/** Decides which callers may call. With `undefined` for rules every caller may ask for anything. */
export class Access {
  readonly #rules: readonly Rule[] | undefined
  readonly #byToken = new Map<string, Rule>()
  readonly #guarded = new Map<Rule, CapacityService>()
  readonly #service: CapacityService

  /** Throws as {@link rulesFrom} does. */
  constructor(rules: readonly AccessRule[] | undefined, service: CapacityService) {
    this.#service = service
    this.#rules = rules && rulesFrom(rules)
    for (const rule of this.#rules ?? []) {
      if (rule.token !== undefined) this.#byToken.set(rule.token, rule)
      this.#guarded.set(rule, guarded(service, rule))
    }
  }

  /** The service within the caller's rights. Throws a `CapacityError` `unauthenticated` for an unknown caller. */
  serviceFor(from: Credentials): CapacityService {
    const rule = this.#ruleOf(from)
    return rule === undefined ? this.#service : this.#guarded.get(rule)!
  }

  /** Throws a `CapacityError` when the caller may not see the pages. */
  requirePages(from: Credentials): void {
    const rule = this.#ruleOf(from)
    if (rule?.pages === false) throw new CapacityError('permission_denied', `${rule.name} may not see this`)
  }

  /** Throws a `CapacityError` when the caller may not ask for the resource. */
  requireResource(from: Credentials, id: string): void {
    const rule = this.#ruleOf(from)
    if (rule !== undefined) allow(rule, id)
  }

  /** The caller's rule; `undefined` if there are no rules. */
  #ruleOf({ authorization, names }: Credentials): Rule | undefined {
    if (this.#rules === undefined) return undefined
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
    const byToken = token === undefined ? undefined : this.#byToken.get(digestOf(token))
    // A valid certificate does not excuse a wrong token.
    const rule =
      token === undefined ? this.#rules.find(({ certificate }) => certificate && names.some(certificate)) : byToken
    if (rule === undefined) throw new CapacityError('unauthenticated', 'a known token or certificate is needed')
    return rule
  }
}

/**
 * The prepared rules, at least one: an empty list would be a mistake. Throws a `RangeError` or `TypeError` that names
 * the rule, the option and its value.
 */
export function rulesFrom(given: readonly AccessRule[]): Rule[] {
  if (!Array.isArray(given)) throw new TypeError(`access must be a list, got ${show(given)}`)
  if (given.length === 0) throw new TypeError('access must have a rule, got an empty list')
  const rules = Array.from(given, ruleFrom)
  const tokens = rules.flatMap(({ token }) => token ?? [])
  if (new Set(tokens).size < tokens.length) throw new TypeError('access must not have two rules with one token')
  if (new Set(rules.map(({ name }) => name)).size < rules.length)
    throw new TypeError('access must not have two rules of one name')
  return rules
}

function ruleFrom(given: AccessRule): Rule {
  requireOptions('a rule of access', given, OPTIONS)
  const { name, token, certificate, resources, highestPriority = 0, servers = [], pages = false } = given
  requireText('name of a rule of access', name)
  const of = (option: string): string => `${option} of the rule ${show(name)}`
  if (!/^[^/]{1,64}$/.test(name)) throw new TypeError(`${of('name')} must have 1 to 64 characters, and no /`)
  if (token === undefined && certificate === undefined)
    throw new TypeError(`the rule ${show(name)} must have a token or a certificate`)
  if (token !== undefined && (typeof token !== 'string' || token.length < SHORTEST_TOKEN || /\s/.test(token)))
    throw new TypeError(`${of('token')} must have at least ${SHORTEST_TOKEN} characters, and no spaces`)
  if (certificate !== undefined) requireText(of('certificate'), certificate)
  requireInteger(of('highestPriority'), highestPriority, Number.MIN_SAFE_INTEGER)
  requireBoolean(of('pages'), pages)
  return {
    name,
    // Stored as a digest, so the time of the comparison does not depend on the number of matching characters.
    token: token === undefined ? undefined : digestOf(token),
    certificate: certificate === undefined ? undefined : compileGlob(certificate),
    resources: resources === undefined ? undefined : globs(of('resources'), resources),
    highestPriority,
    servers: globs(of('servers'), servers),
    pages,
  }
}

function globs(name: string, given: readonly string[]): Matches[] {
  if (!Array.isArray(given)) throw new TypeError(`${name} must be a list, got ${show(given)}`)
  for (const glob of given) requireText(name, glob)
  return given.map(compileGlob)
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

/** `service` within the rights of `rule`. Each rule has its own clients: ids of another rule have no meaning here. */
function guarded(service: CapacityService, rule: Rule): CapacityService {
  const ownId = (clientId: string): string => (clientId === '' ? '' : `${rule.name}/${clientId}`)
  const denied = (what: string): CapacityError => denial(rule, what)
  const requireResource = (id: string): void => allow(rule, id)
  return {
    discovery: (request, signal) => service.discovery(request, signal),
    getCapacity(request, signal) {
      for (const { resourceId, priority } of request.resource) {
        requireResource(resourceId)
        if (priority > rule.highestPriority) throw denied(`ask with priority ${priority}`)
      }
      return service.getCapacity({ ...request, clientId: ownId(request.clientId) }, signal)
    },
    getServerCapacity(request, signal) {
      if (!rule.servers.some((matches) => matches(request.serverId)))
        throw denied(`speak for the server ${show(request.serverId.slice(0, 64))}`)
      for (const { resourceId, wants } of request.resource) {
        requireResource(resourceId)
        for (const { priority } of wants)
          if (priority > rule.highestPriority) throw denied(`ask with priority ${priority}`)
      }
      return service.getServerCapacity(request, signal)
    },
    releaseCapacity: (request, signal) =>
      service.releaseCapacity({ ...request, clientId: ownId(request.clientId) }, signal),
  }
}

/** Throws if the rule does not permit this resource. */
function allow(rule: Rule, id: string): void {
  if (rule.resources !== undefined && !rule.resources.some((matches) => matches(id)))
    throw denial(rule, `ask for ${show(id.slice(0, 64))}`)
}

function denial({ name }: Rule, what: string): CapacityError {
  return new CapacityError('permission_denied', `${name} may not ${what}`)
}

/** Field names in the file, and the options they set. */
const FIELDS: Readonly<Record<string, keyof AccessRule | 'tokenFile'>> = {
  name: 'name',
  token: 'token',
  token_file: 'tokenFile',
  certificate: 'certificate',
  resources: 'resources',
  highest_priority: 'highestPriority',
  servers: 'servers',
  pages: 'pages',
}

/**
 * Reads rules of access: a YAML list under `access`, the fields in snake case; `token_file` names a file with the
 * token. Throws an error that names the rule and the field.
 */
export async function accessFrom(path: string): Promise<AccessRule[]> {
  const document: unknown = parse(await readFile(path, 'utf8'))
  requireOptions(path, document, ['access'])
  const { access } = document as { access?: unknown }
  if (!Array.isArray(access)) throw new TypeError(`access must be a list, got ${show(access)}`)
  return Promise.all(access.map((entry: unknown, index) => ruleInFile(`access[${index}]`, entry)))
}

async function ruleInFile(name: string, entry: unknown): Promise<AccessRule> {
  requireOptions(name, entry, Object.keys(FIELDS))
  const fields = Object.entries(entry as object).map(([field, value]: [string, unknown]) => [FIELDS[field]!, value])
  const { tokenFile, ...rule } = Object.fromEntries(fields) as AccessRule & { tokenFile?: string }
  return tokenFile === undefined ? rule : { ...rule, token: (await readFile(tokenFile, 'utf8')).trim() }
}
