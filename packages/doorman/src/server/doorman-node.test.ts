import { CapacityError, type GetCapacityRequest, type ResourceRequest } from '@fairlead/core/doorman'
import { describe, expect, it } from 'vitest'
import { DoormanNode } from './doorman-node.js'
import { limitsFrom } from './limits.js'
import { MasterState } from './master-state.js'
import type { ResourceTemplate } from './repository.js'

const NOW = 1_000

function template(identifierGlob: string, capacity: number, change: Partial<ResourceTemplate> = {}): ResourceTemplate {
  const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength: 60, refreshInterval: 8, parameters: [] }
  return { identifierGlob, capacity, algorithm, ...change }
}

function nodeOf(resources = [template('*', 100)], mastership = new MasterState(true, 'here:1')): DoormanNode {
  return new DoormanNode({
    id: 'n',
    repository: { resources },
    isRoot: true,
    minimumSeconds: 5,
    mastership,
    limits: limitsFrom({}),
    notice: () => {},
  })
}

function asking(
  wants: number,
  resourceId = 'r',
  clientId = 'c',
  more: Partial<ResourceRequest> = {},
): GetCapacityRequest {
  return { clientId, resource: [{ resourceId, priority: 0, wants, ...more }] }
}

describe('DoormanNode', () => {
  it('answers with a lease and the safe capacity: what is configured, else the part of each client', () => {
    const node = nodeOf([template('s', 100, { safeCapacity: 7 }), template('*', 100)])
    expect(node.getCapacity(asking(10), NOW).response).toEqual([
      { resourceId: 'r', gets: { capacity: 11, expiryTime: 1_060, refreshInterval: 8 }, safeCapacity: 100 },
    ])
    expect(node.getCapacity(asking(10, 'r', 'd'), NOW).response[0]!.safeCapacity).toBe(50)
    expect(node.getCapacity(asking(10, 's'), NOW).response[0]!.safeCapacity).toBe(7)
  })

  it('leaves out what is asked for again inside the minimum interval, and what no template matches', () => {
    const node = nodeOf()
    const resource = ['a', 'b', 'x/y'].map((resourceId) => ({ resourceId, priority: 0, wants: 1 }))
    const ids = (now: number): string[] =>
      node.getCapacity({ clientId: 'c', resource }, now).response.map((r) => r.resourceId)
    expect(ids(NOW)).toEqual(['a', 'b'])
    node.getCapacity(asking(1, 'a'), NOW + 6)
    expect(ids(NOW + 7)).toEqual(['b'])
  })

  it.each<[string, GetCapacityRequest]>([
    ['client_id must be a non-empty string, got ""', asking(1, 'r', '')],
    ['resource_id must be a non-empty string, got ""', asking(1, '')],
    ['wants must be a number >= 0, got -1', asking(-1)],
    ['wants must be a number >= 0, got NaN', asking(Number.NaN)],
    ['wants must be a number >= 0, got Infinity', asking(Number.POSITIVE_INFINITY)],
    ['priority must be an integer, got 0.5', asking(1, 'r', 'c', { priority: 0.5 })],
    ['weight must be a number > 0, got 0', asking(1, 'r', 'c', { weight: 0 })],
    ['the capacity of has must be', asking(1, 'r', 'c', { has: { capacity: -1, expiryTime: 1, refreshInterval: 1 } })],
    [
      'the expiry_time of has must be',
      asking(1, 'r', 'c', { has: { capacity: 1, expiryTime: 0.5, refreshInterval: 1 } }),
    ],
  ])('refuses a request with nothing changed: %s', (message, request) => {
    const node = nodeOf()
    const both = { ...request, resource: [...asking(5, 'good').resource, ...request.resource] }
    expect(() => node.getCapacity(both, NOW)).toThrow(message)
    expect(() => node.getCapacity(both, NOW)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
    expect(node.snapshot(NOW).resources).toEqual([])
  })

  it('refuses bad requests of servers, and bad releases', () => {
    const node = nodeOf()
    const refused = (change: object, band: object = {}): unknown => {
      const wants = [{ priority: 0, numClients: 1, wants: 1, ...band }]
      try {
        return node.getServerCapacity({ serverId: 's', resource: [{ resourceId: 'r', wants }], ...change }, NOW)
      } catch (error) {
        return error instanceof CapacityError ? `${error.code}: ${error.message}` : error
      }
    }
    expect(refused({}, { numClients: 0 })).toBe('invalid_argument: num_clients must be a whole number > 0, got 0')
    expect(refused({}, { wants: -1 })).toBe('invalid_argument: wants must be a number >= 0, got -1')
    expect(refused({ serverId: '' })).toBe('invalid_argument: server_id must be a non-empty string, got ""')
    expect(refused({ resource: [{ resourceId: 'r', wants: [], outstanding: Number.NaN }] })).toBe(
      'invalid_argument: outstanding must be a number >= 0, got NaN',
    )
    expect(node.snapshot(NOW).resources).toEqual([])
    expect(() => node.releaseCapacity({ clientId: '', resourceId: ['r'] }, NOW)).toThrow('client_id must be')
  })

  it('passes over empty ids in a release, as published clients send them', () => {
    const node = nodeOf()
    node.getCapacity(asking(100), NOW)
    expect(node.releaseCapacity({ clientId: 'c', resourceId: ['', '', 'r'] }, NOW + 1)).toEqual({})
    expect(node.getCapacity(asking(100, 'r', 'd'), NOW + 1).response[0]!.gets.capacity).toBe(100)
  })

  it('takes the words of a server without any clients', () => {
    const answer = nodeOf().getServerCapacity({ serverId: 's', resource: [{ resourceId: 'r', wants: [] }] }, NOW)
    expect(answer.response).toMatchObject([
      { gets: { capacity: 0 }, algorithm: { kind: 'FAIR_SHARE', refreshInterval: 8 } },
    ])
  })

  it('says only who the master is when it is not, and keeps nothing', () => {
    const mastership = new MasterState(false, undefined)
    const node = nodeOf(undefined, mastership)
    expect(node.getCapacity(asking(1), NOW)).toEqual({ response: [], mastership: {} })
    mastership.follows('there:2')
    const answer = { response: [], mastership: { masterAddress: 'there:2' } }
    expect(node.getCapacity(asking(1), NOW)).toEqual(answer)
    expect(node.getServerCapacity({ serverId: 's', resource: [] }, NOW)).toEqual(answer)
    expect(node.releaseCapacity({ clientId: 'c', resourceId: ['r'] }, NOW)).toEqual({ mastership: answer.mastership })
    expect(node.discovery(NOW)).toEqual({ mastership: answer.mastership, isMaster: false })
    expect(node.snapshot(NOW)).toMatchObject({ isMaster: false, resources: [] })
  })

  it('grants nothing from the moment on at which its lock may have run out', () => {
    const mastership = new MasterState(true, 'here:1')
    const node = nodeOf(undefined, mastership)
    mastership.holdsUntil(NOW + 10)
    expect(node.discovery(NOW + 9.9)).toEqual({ mastership: { masterAddress: 'here:1' }, isMaster: true })
    expect(node.getCapacity(asking(1), NOW + 9.9).response).toHaveLength(1)
    expect(node.getCapacity(asking(1), NOW + 10)).toEqual({ response: [], mastership: {} })
    mastership.holdsUntil(NOW + 20)
    expect(node.getCapacity(asking(1), NOW + 16).response).toHaveLength(1)
  })

  it('keeps back what a predecessor may have left, from when its lock was seen to vanish', () => {
    const gets = (succeeds: boolean, vanishedAt?: number): number[] => {
      const mastership = new MasterState(false, undefined)
      const node = nodeOf(undefined, mastership)
      if (vanishedAt !== undefined) mastership.lockVanished(vanishedAt)
      mastership.won('here:1', succeeds, NOW)
      return [NOW + 30, NOW + 50, NOW + 61].map((now) => node.getCapacity(asking(10), now).response[0]!.gets.capacity)
    }
    expect(gets(false)).toEqual([11, 11, 11])
    expect(gets(true)).toEqual([0, 0, 11])
    expect(gets(true, NOW - 20)).toEqual([0, 11, 11])
  })

  it('forgets released leases, and unused resources', () => {
    const node = nodeOf()
    node.getCapacity(asking(90, 'r', 'a'), NOW)
    node.getCapacity(asking(5, 'other', 'a'), NOW)
    node.releaseCapacity({ clientId: 'a', resourceId: ['r', 'unknown'] }, NOW + 1)
    expect(node.getCapacity(asking(90, 'r', 'b'), NOW + 1).response[0]!.gets.capacity).toBe(95)
    node.getCapacity(asking(90, 'r', 'b'), NOW + 130)
    expect(node.snapshot(NOW + 130).resources.map(({ id }) => id)).toEqual(['r'])
  })

  it('takes a new configuration, and refuses a bad one and keeps the old', () => {
    const node = nodeOf()
    node.getCapacity(asking(200), NOW)
    node.getCapacity(asking(200, 'gone/now'), NOW)
    expect(() => node.configure({ resources: [template('a', 1)] })).toThrow('must contain an entry for "*"')
    expect(node.snapshot(NOW)).toMatchObject({ resources: [{ capacity: 100 }], templates: [{ identifierGlob: '*' }] })
    const algorithm = { kind: 'STATIC' as const, leaseLength: 30, refreshInterval: 4, parameters: [] }
    node.configure({ resources: [template('*', 40, { algorithm })] })
    expect(node.getCapacity(asking(200), NOW + 8).response[0]!.gets).toEqual({
      capacity: 40,
      expiryTime: NOW + 38,
      refreshInterval: 4,
      // It expires before the one that it follows.
      serial: 1,
    })
  })

  it('shows what it knows, as plain JSON', () => {
    const node = nodeOf()
    node.getCapacity(asking(10), NOW)
    const snapshot = node.snapshot(NOW + 1)
    expect(JSON.parse(JSON.stringify(snapshot))).toEqual(snapshot)
    expect(snapshot).toMatchObject({
      id: 'n',
      isMaster: true,
      masterAddress: 'here:1',
      resources: [
        {
          id: 'r',
          capacity: 100,
          safeCapacity: 100,
          learning: false,
          reserve: 0,
          sumHas: 11,
          sumHeld: 11,
          sumWants: 10,
          clients: 1,
          children: [{ id: 'c', kind: 'client', wants: 10, has: 11, held: 11, expiryTime: 1_060, refreshInterval: 8 }],
        },
      ],
    })
    expect(node.snapshot(NOW + 60).resources[0]!.sumHas).toBe(0)
  })
})
