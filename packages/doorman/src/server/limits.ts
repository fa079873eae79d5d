import {
  CapacityError,
  type GetCapacityRequest,
  type GetServerCapacityRequest,
  type Lease,
  type PriorityBandAggregate,
  type ReleaseCapacityRequest,
  type ServerCapacityResourceResponse,
} from '@fairlead/core/doorman'
import { requireInteger, requireOptions, show, withDefaults } from '@fairlead/core/internal'
import { requireAlgorithm } from './repository.js'
import { knownParameters } from './rules.js'

/** Limits of a {@link DoormanServer}; whole numbers above 0. A known client is served even when the server is full. */
export interface DoormanServerLimits {
  /** Longest id of a client, server or resource, in UTF-16 units; a longer one is refused. @default 256 */
  idLength: number
  /** Most resources in one request; one with more is refused. @default 1000 */
  resourcesPerRequest: number
  /** Most resources that one client may have. @default 1000 */
  resourcesPerClient: number
  /** Most resources that the node keeps. @default 10000 */
  resources: number
  /** Most clients and servers, each counted at every resource that it has asked for. @default 500000 */
  clients: number
}

const DEFAULTS: DoormanServerLimits = {
  idLength: 256,
  resourcesPerRequest: 1_000,
  resourcesPerClient: 1_000,
  resources: 10_000,
  clients: 500_000,
}

/** Throws a `RangeError` or `TypeError` that names the limit and its value. */
export function limitsFrom(given: Partial<DoormanServerLimits>): DoormanServerLimits {
  requireOptions('limits', given, Object.keys(DEFAULTS))
  const limits = withDefaults(given, DEFAULTS)
  for (const [name, value] of Object.entries(limits)) requireInteger(`limits.${name}`, value, 1)
  return limits
}

/** No unpaired surrogates: they have no UTF-8, so pages and metrics could not show them. */
const WELL_FORMED = /^\P{Surrogate}*$/u

/** Most groups of a server's children of one resource; our servers send 33 at most. */
const MOST_BANDS = 256

/** Throws a {@link CapacityError} `invalid_argument` for an invalid request, before anything is changed. */
export function requireGetCapacity(
  { clientId, instance, releases = 0, resource }: GetCapacityRequest,
  limits: DoormanServerLimits,
): void {
  requireId('client_id', clientId, limits)
  if (instance !== undefined) requireId('instance', instance, limits)
  requireWhole('releases', releases)
  requireFew('resource', resource, limits.resourcesPerRequest)
  for (const { resourceId, wants, priority, has, weight, inUse = 0, waiting = 0 } of resource) {
    requireId('resource_id', resourceId, limits)
    requireAmount('wants', wants)
    requireAmount('in_use', inUse)
    requireAmount('waiting', waiting)
    requireWhole('priority', priority)
    requireWeight(weight)
    if (has !== undefined) requireLease(has)
  }
}

/** As {@link requireGetCapacity}. */
export function requireGetServerCapacity(
  { serverId, resource }: GetServerCapacityRequest,
  limits: DoormanServerLimits,
): void {
  requireId('server_id', serverId, limits)
  requireFew('resource', resource, limits.resourcesPerRequest)
  for (const { resourceId, wants, has, outstanding } of resource) {
    requireId('resource_id', resourceId, limits)
    requireFew('wants', wants, MOST_BANDS)
    for (const band of wants) requireBand(band)
    if (has !== undefined) requireLease(has)
    if (outstanding !== undefined) requireAmount('outstanding', outstanding)
  }
}

/**
 * As {@link requireGetCapacity}. Ignores unknown and empty ids of resources: published clients send empty ones when
 * they close, and would otherwise try again for ever.
 */
export function requireReleaseCapacity(
  { clientId, instance, releases = 0, resourceId }: ReleaseCapacityRequest,
  limits: DoormanServerLimits,
): void {
  requireId('client_id', clientId, limits)
  if (instance !== undefined) requireId('instance', instance, limits)
  requireWhole('releases', releases)
  // Published clients send an additional empty id for each resource.
  requireFew('resource_id', resourceId, 2 * Math.max(limits.resourcesPerRequest, limits.resourcesPerClient))
}

/**
 * Throws if a parent's answer about a resource is invalid: published servers can send NaN, which would stay in every
 * sum. Unknown parameters are ignored: a parent may be newer.
 */
export function requireServerAnswer({
  gets,
  target = 0,
  inherited = 0,
  safeCapacity = 0,
  algorithm,
}: ServerCapacityResourceResponse): void {
  // Below 0: published servers send that after a cut; it counts as 0.
  requireAmount('the capacity of gets', Math.max(0, gets.capacity))
  requireWhole('the expiry_time of gets', gets.expiryTime)
  requireWhole('the refresh_interval of gets', gets.refreshInterval)
  requireWhole('the serial of gets', gets.serial ?? 0)
  requireAmount('target', target)
  requireAmount('inherited', inherited)
  requireAmount('safe_capacity', Math.max(0, safeCapacity))
  if (algorithm === undefined) return
  const parameters = knownParameters(algorithm.parameters)
  requireAlgorithm((field) => `${field} of algorithm`, { ...algorithm, parameters })
}

function requireBand({ priority, numClients, wants, weight }: PriorityBandAggregate): void {
  requireWhole('priority', priority)
  if (!(Number.isSafeInteger(numClients) && numClients > 0)) refuse('num_clients', 'a whole number > 0', numClients)
  requireAmount('wants', wants)
  requireWeight(weight)
}

function requireLease({ capacity, expiryTime, serial = 0 }: Lease): void {
  requireAmount('the capacity of has', capacity)
  requireWhole('the expiry_time of has', expiryTime)
  requireWhole('the serial of has', serial)
}

function requireId(name: string, id: string, { idLength }: DoormanServerLimits): void {
  if (typeof id !== 'string' || id === '') refuse(name, 'a non-empty string', id)
  if (id.length > idLength) refuse(name, `at most ${idLength} characters`, `${id.slice(0, 32)}…`)
  if (!WELL_FORMED.test(id)) refuse(name, 'text without half characters', id)
}

function requireFew(name: string, list: readonly unknown[], most: number): void {
  if (list.length > most) refuse(name, `at most ${most} entries`, list.length)
}

function requireAmount(name: string, amount: number): void {
  if (!(Number.isFinite(amount) && amount >= 0)) refuse(name, 'a number >= 0', amount)
}

function requireWhole(name: string, value: number): void {
  if (!Number.isSafeInteger(value)) refuse(name, 'an integer', value)
}

function requireWeight(weight: number | undefined): void {
  if (weight !== undefined && !(Number.isFinite(weight) && weight > 0)) refuse('weight', 'a number > 0', weight)
}

function refuse(name: string, expected: string, value: unknown): never {
  throw new CapacityError('invalid_argument', `${name} must be ${expected}, got ${show(value)}`)
}
