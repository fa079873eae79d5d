import { show } from '../../options.js'
import {
  CapacityError,
  type GetCapacityRequest,
  type GetServerCapacityRequest,
  type PriorityBandAggregate,
  type ReleaseCapacityRequest,
} from '../protocol.js'

/** Throws a {@link CapacityError} `invalid_argument` when something is wrong, before anything is changed. */
export function requireGetCapacity({ clientId, resource }: GetCapacityRequest): void {
  requireId('client_id', clientId)
  for (const { resourceId, wants, priority, has, weight } of resource) {
    requireId('resource_id', resourceId)
    requireAmount('wants', wants)
    requireWhole('priority', priority)
    requireWeight(weight)
    if (has !== undefined) requireLease(has.capacity, has.expiryTime)
  }
}

/** As {@link requireGetCapacity}. */
export function requireGetServerCapacity({ serverId, resource }: GetServerCapacityRequest): void {
  requireId('server_id', serverId)
  for (const { resourceId, wants, has, outstanding } of resource) {
    requireId('resource_id', resourceId)
    for (const band of wants) requireBand(band)
    if (has !== undefined) requireLease(has.capacity, has.expiryTime)
    if (outstanding !== undefined) requireAmount('outstanding', outstanding)
  }
}

/** As {@link requireGetCapacity}. */
export function requireReleaseCapacity({ clientId, resourceId }: ReleaseCapacityRequest): void {
  requireId('client_id', clientId)
  for (const id of resourceId) requireId('resource_id', id)
}

function requireBand({ priority, numClients, wants, weight }: PriorityBandAggregate): void {
  requireWhole('priority', priority)
  if (!(Number.isSafeInteger(numClients) && numClients > 0)) refuse('num_clients', 'a whole number > 0', numClients)
  requireAmount('wants', wants)
  requireWeight(weight)
}

function requireLease(capacity: number, expiryTime: number): void {
  requireAmount('the capacity of has', capacity)
  requireWhole('the expiry_time of has', expiryTime)
}

function requireId(name: string, id: string): void {
  if (typeof id !== 'string' || id === '') refuse(name, 'a non-empty string', id)
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
