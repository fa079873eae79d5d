import type { BudgetFrame, FairFrame, LeaseFrame, OverrideFrame, QueueFrame, SignalFrame } from './frame.js'
import { cut, LONGEST_NAME, LONGEST_WORD } from './told.js'

/** Most entries of a list, and most signals, in a frame; a curve has 21 points. */
const LISTED = 20
const SIGNALS = 16
const POINTS = 64

/** The stages' snapshots, of unknown form: only the expected fields are read. */
type Json = Readonly<Record<string, unknown>>

/** The visible part of a stage's snapshot. A user's stage may have any form: fields of another form are not shown. */
export function fairFrame(stage: unknown): FairFrame | null {
  if (!isJson(stage) || typeof stage['engaged'] !== 'boolean') return null
  const sharing = isJson(stage['sharing']) ? stage['sharing'] : undefined
  return {
    engaged: stage['engaged'],
    looking: stage['looking'] === true,
    fairRatePerSecond: numberOf(stage['fairRatePerSecond']),
    capacityPerSecond: numberOf(stage['capacityPerSecond']),
    failureShare: numberOf(stage['failureShare']) ?? 0,
    backgroundFailureShare: numberOf(stage['backgroundFailureShare']) ?? 0,
    sharing: sharing
      ? {
          members: numberOf(sharing['members']) ?? 1,
          part: numberOf(sharing['part']) ?? 1,
          ageMs: numberOf(sharing['ageMs']) ?? 0,
        }
      : null,
  }
}

export function queueFrame(stage: unknown, label: (flow: string) => string): QueueFrame | null {
  if (!isJson(stage) || !Array.isArray(stage['flows'])) return null
  const drains = listOf(stage['bands']).map((band) => numberOf(band['drainPerSecond']))
  const known = drains.filter((drain) => drain !== null)
  const capacity = isJson(stage['capacity']) ? stage['capacity'] : undefined
  return {
    waiting: numberOf(stage['waiting']) ?? 0,
    running: numberOf(stage['running']) ?? 0,
    drainPerSecond: known.length > 0 ? known.reduce((sum, drain) => sum + drain, 0) : null,
    flows: listOf(stage['flows']).map((flow) => ({
      flow: label(nameOf(flow['flow'])),
      waiting: numberOf(flow['waiting']) ?? 0,
      oldestMs: numberOf(flow['oldestMs']) ?? 0,
      running: numberOf(flow['running']) ?? 0,
    })),
    capacity: capacity
      ? {
          kind: textOf(capacity['kind']),
          limit: numberOf(capacity['limit']) ?? numberOf(capacity['capacity']),
          inFlight: numberOf(capacity['inFlight']) ?? 0,
          climbing: capacity['climbing'] === true,
          looking: capacity['looking'] === true,
        }
      : null,
  }
}

export function signalFrames(stage: unknown, isHashed: boolean): SignalFrame[] {
  if (!isJson(stage)) return []
  return listOf(stage['signals'], SIGNALS).map((signal) => ({
    name: textOf(signal['name'], LONGEST_WORD),
    from: numberOf(signal['from']) ?? 0,
    to: numberOf(signal['to']) ?? 1,
    load: numberOf(signal['load']),
    reserved: numberOf(signal['reserved']) ?? 0,
    probability: numberOf(signal['probability']) ?? 0,
    probabilities: numbersOf(signal['probabilities']),
    curve: numbersOf(signal['curve']),
    // The error of a source may contain a name.
    problem: typeof signal['problem'] !== 'string' ? null : isHashed ? 'has a problem' : textOf(signal['problem']),
  }))
}

export function budgetFrame(stage: unknown, label: (flow: string) => string): BudgetFrame | null {
  if (!isJson(stage)) return null
  const limit = numberOf(stage['limit'])
  const windowMs = numberOf(stage['windowMs'])
  if (limit === null || windowMs === null) return null
  return {
    limit,
    windowMs,
    used: numberOf(stage['used']) ?? 0,
    tenants: numberOf(stage['tenants']),
    borrowed: numberOf(stage['borrowed']),
    storeErrors: numberOf(stage['storeErrors']) ?? 0,
    heaviest: listOf(stage['heaviest']).map((tenant) => ({
      tenant: label(nameOf(tenant['tenant'])),
      used: numberOf(tenant['used']) ?? 0,
      guarantee: numberOf(tenant['guarantee']) ?? 0,
      waiting: tenant['waiting'] === true,
    })),
  }
}

/** The lease of the gate's own stage, or the lease that is the queue's capacity. */
export function leaseFrame(doorman: unknown, queue: unknown): LeaseFrame | null {
  const own = isJson(doorman) && isJson(doorman['resource']) ? doorman['resource'] : undefined
  const ofQueue = isJson(queue) && isJson(queue['capacity']) ? queue['capacity'] : undefined
  const resource = own ?? (ofQueue?.['kind'] === 'gauge' ? ofQueue : undefined)
  if (resource === undefined) return null
  return {
    id: textOf(resource['id']),
    capacity: numberOf(resource['capacity']),
    wants: numberOf(resource['wants']),
    by: textOf(resource['by']),
    endsInMs: numberOf(resource['leaseEndsInMs']),
  }
}

export function overrideFrames(stage: unknown, label: (flow: string) => string): OverrideFrame[] {
  if (!isJson(stage)) return []
  return Object.entries(stage).flatMap(([flow, one]) => {
    const leftMs = isJson(one) ? numberOf(one['leftMs']) : null
    if (!isJson(one) || leftMs === null) return []
    return {
      flow: label(flow),
      kind: textOf(one['kind']),
      factor: numberOf(one['factor']) ?? 1,
      costPerSecond: numberOf(one['costPerSecond']),
      leftMs,
    }
  })
}

/** A number that JSON can represent. */
export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: unknown, most = LISTED): Json[] {
  return Array.isArray(value) ? value.slice(0, most).filter(isJson) : []
}

function numbersOf(value: unknown): number[] {
  return Array.isArray(value) ? value.slice(0, POINTS).map((each) => numberOf(each) ?? 0) : []
}

function textOf(value: unknown, longest = LONGEST_NAME): string {
  return typeof value === 'string' ? cut(value, longest) : ''
}

/** A flow's name is never cut, or it could become another flow's name. */
function nameOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
