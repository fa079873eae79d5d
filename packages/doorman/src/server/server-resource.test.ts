import type { Lease, NamedParameter, ResourceRequest, ServerCapacityResourceResponse } from '@fairlead/core/doorman'
import { seededRandom } from '@fairlead/core/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ResourceTemplate } from './repository.js'
import { Census, Corrections, type ResourceWorld } from './resource-world.js'
import { ServerResource } from './server-resource.js'

const NEVER = Number.NEGATIVE_INFINITY
const MINIMUM_SECONDS = 2

function template(
  capacity = 100,
  parameters: NamedParameter[] = [],
  change: Partial<ResourceTemplate> = {},
): ResourceTemplate {
  const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength: 60, refreshInterval: 8, parameters }
  return { identifierGlob: '*', capacity, algorithm, ...change }
}

function world(isRoot: boolean): ResourceWorld {
  return {
    isRoot,
    minimumSeconds: MINIMUM_SECONDS,
    census: new Census(),
    turn: { wakes: Number.POSITIVE_INFINITY },
    corrections: new Corrections(),
  }
}

function root(capacity = 100, parameters: NamedParameter[] = [], learnFrom: number = NEVER): ServerResource {
  return new ServerResource('r', template(capacity, parameters), learnFrom, world(true))
}

function ask(
  resource: ServerResource,
  id: string,
  now: number,
  wants: number,
  has?: Lease,
  more: Partial<ResourceRequest> = {},
): Lease {
  const request: ResourceRequest = { resourceId: 'r', priority: 0, wants, ...more }
  if (has !== undefined) request.has = has
  return resource.decideClient(id, undefined, request, now)!
}

function lease(capacity: number, expiryTime: number): Lease {
  return { capacity, expiryTime, refreshInterval: 8 }
}

describe('a root with clients', () => {
  it('gives what is wanted and head-room, for a lease length, until the next refresh', () => {
    expect(ask(root(), 'a', 1_000.7, 10)).toEqual({ capacity: 11, expiryTime: 1_060, refreshInterval: 8 })
  })

  it('gives no more head-room than half of what is left', () => {
    expect(ask(root(), 'a', 1_000, 98).capacity).toBeCloseTo(99, 9)
    expect(ask(root(100, [{ name: 'headroom', value: '0' }]), 'a', 1_000, 98).capacity).toBe(98)
  })

  it('gives only what the others cannot be using, and asks those who wait for more to come back soon', () => {
    const resource = root()
    ask(resource, 'a', 1_000, 200)
    expect(ask(resource, 'b', 1_000, 200)).toMatchObject({ capacity: 0, refreshInterval: 2 })
  })

  it('frees what a client gave up when the next request shows that it knows, not before', () => {
    const resource = root()
    const all = ask(resource, 'a', 1_000, 200)
    ask(resource, 'b', 1_000, 200)
    const cut = ask(resource, 'a', 1_002, 200, all)
    expect(cut).toMatchObject({ capacity: 50, refreshInterval: 2 })
    // It has not confirmed yet: the answer may have been lost.
    expect(ask(resource, 'b', 1_003, 200).capacity).toBe(0)
    const again = ask(resource, 'a', 1_004, 200, all)
    expect(again.capacity).toBe(50)
    expect(ask(resource, 'b', 1_005, 200).capacity).toBe(0)
    expect(ask(resource, 'a', 1_006, 200, again)).toMatchObject({ capacity: 50, refreshInterval: 8 })
    expect(ask(resource, 'b', 1_007, 200)).toMatchObject({ capacity: 50, refreshInterval: 8 })
  })

  it('takes a question that comes after a later one for no sign that the later answer was not heard', () => {
    const resource = root()
    const first = ask(resource, 'a', 1_000, 50)
    const raised = ask(resource, 'a', 1_003, 60, first)
    expect(raised.capacity).toBeGreaterThan(first.capacity)
    // Sent before that, and delayed until now; the answer is lost.
    const unheard = ask(resource, 'a', 1_006, 50, first)
    expect(unheard.capacity).toBe(first.capacity)
    expect(ask(resource, 'b', 1_007, 100).capacity).toBeLessThanOrEqual(100 - raised.capacity)
    // The client shows its lease, which is not the last one.
    const told = ask(resource, 'a', 1_009, 20, raised)
    expect(ask(resource, 'b', 1_010, 100).capacity).toBeLessThanOrEqual(100 - raised.capacity)
    ask(resource, 'a', 1_012, 20, told)
    expect(ask(resource, 'b', 1_013, 100).capacity).toBeGreaterThanOrEqual(75)
  })

  it('tells a lease from others that end in the same second', () => {
    const resource = root()
    const first = ask(resource, 'a', 1_000, 10)
    const raised = ask(resource, 'a', 1_000.5, 100, first)
    expect([first.expiryTime, raised.expiryTime]).toEqual([1_060, 1_060])
    ask(resource, 'b', 1_001.5, 100)
    // The same question a second time: the answer is lost, and the client keeps its earlier lease.
    ask(resource, 'a', 1_001.9, 50, first)
    expect(ask(resource, 'b', 1_004, 100).capacity).toBe(0)
    const told = ask(resource, 'a', 1_005, 100, raised)
    ask(resource, 'a', 1_007, 100, told)
    expect(ask(resource, 'b', 1_008, 100).capacity).toBe(50)
  })

  it('takes a lease for no other that ends in the same second, also where its holder gave some of it back', () => {
    const resource = root()
    const first = ask(resource, 'a', 1_000, 100)
    const kept = { ...first, capacity: 30 }
    // The whole capacity was granted again before this arrived.
    expect(ask(resource, 'a', 1_000.5, 150, kept)).toMatchObject({
      capacity: 100,
      expiryTime: first.expiryTime,
      serial: 1,
    })
    ask(resource, 'a', 1_000.9, 30, kept)
    expect(ask(resource, 'b', 1_003, 100).capacity).toBe(0)
  })

  it('holds what a child had until that has ended, and not for ever where it never shows what it was given', () => {
    for (const shows of [(all: Lease) => all, () => undefined]) {
      const resource = root()
      const all = ask(resource, 'a', 1_000, 100)
      let got = 0
      let heldUntil = 0
      let other: Lease | undefined
      for (let now = 1_002; now < 1_300; now += 2) {
        // By all that is known it may use 100 until 1060; all these answers are lost.
        const has = now < 1_060 ? shows(all) : undefined
        ask(resource, 'a', now, 1, has ?? { ...all, capacity: 1, expiryTime: now + 5 })
        other = ask(resource, 'b', now + 1, 100, other)
        if (other.capacity === 0) heldUntil = now + 1
        got = other.capacity
      }
      expect(heldUntil).toBeGreaterThan(1_058)
      expect(heldUntil).toBeLessThan(1_066)
      expect(got).toBeGreaterThan(90)
    }
  })

  it('takes a question without a lease for no sign that the last answer was heard', () => {
    const resource = root()
    const asking = (now: number, has?: Lease): Lease =>
      resource.decideClient('a', 'process', { resourceId: 'r', priority: 0, wants: 100, ...(has && { has }) }, now)!
    const all = asking(1_000)
    ask(resource, 'b', 1_001, 100)
    // The answer to this one is lost; then the very first question arrives.
    expect(asking(1_002, all).capacity).toBe(50)
    const late = asking(1_004)
    expect(ask(resource, 'b', 1_005, 100).capacity).toBe(0)
    asking(1_006, late)
    expect(ask(resource, 'b', 1_007, 100).capacity).toBe(50)
  })

  it('believes that a decrease arrived when the parameter says so', () => {
    const resource = root(100, [{ name: 'confirm', value: 'false' }])
    const all = ask(resource, 'a', 1_000, 200)
    ask(resource, 'b', 1_000, 200)
    ask(resource, 'a', 1_002, 200, all)
    expect(ask(resource, 'b', 1_003, 200).capacity).toBe(50)
  })

  it('does not take a claim for more than it gave', () => {
    const resource = root()
    ask(resource, 'a', 1_000, 10)
    ask(resource, 'a', 1_002, 10, lease(90, 1_060))
    expect(resource.ledger.held).toBe(11)
  })

  it('counts a lease for a second after it ended, and forgets the client a lease length after its last request', () => {
    const resource = root()
    ask(resource, 'a', 1_000, 200)
    expect(ask(resource, 'b', 1_060.9, 10).capacity).toBe(0)
    expect(ask(resource, 'c', 1_061, 10).capacity).toBeGreaterThan(9)
    resource.ledger.advance(1_130)
    expect(resource.ledger.size).toBe(0)
    expect(resource.ledger.held).toBe(0)
    expect(resource.ledger.bands.wants).toBe(0)
  })

  it('keeps in mind how much clients want that were given nothing', () => {
    const resource = root()
    ask(resource, 'a', 1_000, 200)
    ask(resource, 'b', 1_000, 200)
    expect(ask(resource, 'a', 1_004, 200, lease(100, 1_060)).capacity).toBe(50)
  })

  it('leaves out children that missed two refreshes, except for the amounts they hold', () => {
    const resource = root()
    const a = ask(resource, 'a', 1_000, 60)
    ask(resource, 'b', 1_000, 1_000)
    // b was asked to come back in 2 s. At 4 s it still counts.
    expect(ask(resource, 'a', 1_004, 60, a).capacity).toBe(50)
    expect(ask(resource, 'a', 1_006, 60, lease(50, 1_060)).capacity).toBeGreaterThan(59)
  })

  it('cuts no child below its share', () => {
    const resource = root(100, [{ name: 'headroom', value: '0' }])
    const [first] = ['a', 'b', 'c', 'd'].map((id) => ask(resource, id, 1_000, 25))
    resource.configure(template(60))
    // The others still have 75, so 40 are missing; but they have not asked again yet.
    expect(ask(resource, 'a', 1_002, 25, first).capacity).toBe(15)
    resource.configure(template(5))
    expect(ask(resource, 'a', 1_004, 25, lease(15, 1_062)).capacity).toBe(1.25)
    // A client that wants less gives the rest back, no matter what the others hold.
    expect(ask(resource, 'b', 1_005, 1, first).capacity).toBe(1)
  })

  it('does not answer a child that asks again too soon, and tells none to', () => {
    const resource = root()
    ask(resource, 'a', 1_000, 200)
    expect(resource.decideClient('a', undefined, { resourceId: 'r', priority: 0, wants: 180 }, 1_001.7)).toBeUndefined()
    expect(resource.ledger.bands.wants).toBe(200)
    expect(ask(resource, 'a', 1_002, 180)).toBeDefined()
  })

  it('serves higher bands first, and by weight where that is said', () => {
    const resource = root(100, [
      { name: 'weighted', value: 'true' },
      { name: 'highest_priority', value: '1' },
      { name: 'minimum_share:0', value: '0.1' },
    ])
    const names = ['low', 'light', 'heavy'] as const
    const terms = { low: { priority: 0 }, light: { priority: 1 }, heavy: { priority: 1, weight: 2 } }
    const has: { [name: string]: Lease } = {}
    for (let now = 1_000; now < 1_030; now += 2)
      for (const name of names) has[name] = ask(resource, name, now, 100, has[name], terms[name])
    expect(has['low']!.capacity).toBeCloseTo(10, 9)
    expect(has['light']!.capacity).toBeCloseTo(30, 9)
    expect(has['heavy']!.capacity).toBeCloseTo(60, 9)
  })

  it('is free again when a client has let go', () => {
    const resource = root()
    ask(resource, 'a', 1_000, 200)
    resource.release('a', undefined, 1_001)
    expect(ask(resource, 'b', 1_001, 200).capacity).toBe(100)
    expect([resource.ledger.size, resource.ledger.bands.wants]).toEqual([1, 200])
  })

  it.each([10, 0.1, 12_345.678])(
    'never grants more than %d, for any sequence of questions, losses, delays and cuts',
    (capacity) => {
      fc.assert(
        fc.property(
          fc.array(
            fc.record({
              client: fc.nat(5),
              wants: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 3, noNaN: true })),
              seconds: fc.constantFrom(0, 0.5, 1, 2, 5, 30, 61),
              lost: fc.boolean(),
            }),
            { maxLength: 60 },
          ),
          (steps) => {
            const resource = root(capacity)
            /** The rules that clients follow: a lost answer changes nothing. */
            const leases = new Map<number, Lease>()
            let now = 1_000
            for (const { client, wants, seconds, lost } of steps) {
              now += seconds
              for (const [id, { expiryTime }] of leases) if (expiryTime <= now) leases.delete(id)
              const request: ResourceRequest = { resourceId: 'r', priority: 0, wants: wants * capacity }
              const has = leases.get(client)
              if (has !== undefined) request.has = has
              const gets = resource.decideClient(`client-${client}`, undefined, request, now)
              if (gets !== undefined && !lost) leases.set(client, gets)
              let total = 0
              for (const each of leases.values()) total += each.capacity
              expect(total).toBeLessThanOrEqual(capacity * (1 + 1e-12))
              expect(resource.ledger.held).toBeLessThanOrEqual(capacity)
            }
          },
        ),
        { numRuns: 400 },
      )
    },
  )

  it('comes to max-min when everybody goes on asking', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.01, max: 50, noNaN: true }), { minLength: 1, maxLength: 12 }),
        (wants) => {
          const resource = root(100, [{ name: 'headroom', value: '0' }])
          const leases: (Lease | undefined)[] = wants.map(() => undefined)
          for (let now = 1_000; now < 1_012; now += 2)
            for (const [i, each] of wants.entries()) leases[i] = ask(resource, `${i}`, now, each, leases[i])
          const level = levelOf(wants, 100)
          for (const [i, each] of wants.entries())
            expect(Math.abs(leases[i]!.capacity - Math.min(each, level))).toBeLessThanOrEqual(1e-7)
        },
      ),
    )
  })

  it('knows the level among a thousand, however often they change their minds', () => {
    const random = seededRandom(1)
    const resource = root(20_000)
    const wants = Array.from({ length: 1_000 }, () => 0)
    for (let now = 1_000; now < 1_240; now += 4) {
      for (let i = 0; i < 1_000; i++) {
        wants[i] = 10 + 90 * random()
        ask(resource, `${i}`, now, wants[i]!)
      }
      const [band] = resource.ledger.bands.all
      expect(band!.blocks.level(20_000)).toBeCloseTo(levelOf(wants, 20_000), 6)
    }
  })
})

function levelOf(wants: readonly number[], capacity: number): number {
  let left = capacity
  for (const [i, each] of wants.toSorted((x, y) => x - y).entries()) {
    const equal = left / (wants.length - i)
    if (each >= equal) return equal
    left -= each
  }
  return Number.POSITIVE_INFINITY
}

describe('a root that succeeds another master', () => {
  it('reserves what may be granted, does not grant the rest of it, and ends when no old lease can be valid', () => {
    const resource = root(100, [], 1_000)
    expect(ask(resource, 'new', 1_001, 50).capacity).toBe(0)
    // A child shows its lease; its amount is known now, and the rest is still reserved.
    expect(ask(resource, 'old', 1_002, 200, lease(40, 1_050)).capacity).toBe(20)
    expect(resource.reserve(1_002)).toBe(60)
    expect(resource.ledger.held).toBe(40)
    expect(ask(resource, 'new', 1_059, 50)).toMatchObject({ capacity: 0 })
    expect(ask(resource, 'new', 1_061, 50).capacity).toBeGreaterThanOrEqual(50)
  })

  it('hands out what is not reserved from the first second', () => {
    const resource = root(100, [], 1_000)
    ask(resource, 'old', 1_001, 80, lease(100, 1_050))
    expect(resource.reserve(1_001)).toBe(0)
    expect(resource.ledger.held).toBe(100)
    expect(ask(resource, 'old', 1_003, 80, lease(80, 1_061)).capacity).toBe(88)
    expect(ask(resource, 'new', 1_004, 10).capacity).toBeGreaterThan(9)
  })

  it('believes no more than its predecessor had, nor longer than a lease', () => {
    const resource = root(100, [], 1_000)
    ask(resource, 'liar', 1_001, 0, lease(1e300, 1e12))
    expect([resource.ledger.held, resource.reserve(1_001)]).toEqual([100, 0])
    resource.ledger.advance(1_070)
    expect(resource.ledger.held).toBe(0)
  })

  it('asks children back at the end of learning', () => {
    const resource = root(100, [], 1_000)
    expect(ask(resource, 'old', 1_055, 40, lease(40, 1_058)).refreshInterval).toBe(5)
    expect(ask(resource, 'old', 1_059.5, 40, lease(40, 1_058)).refreshInterval).toBe(2)
  })

  it('does not believe in a lease that has run out, nor after learning', () => {
    const resource = root(100, [], 1_000)
    ask(resource, 'a', 1_005, 10, lease(60, 1_003))
    expect(resource.reserve(1_005)).toBe(100)
    const later = root(100, [], 1_000)
    ask(later, 'a', 1_061, 10, lease(60, 1_080))
    expect(later.ledger.held).toBe(11)
  })

  it('echoes, as published, where that is said', () => {
    const resource = root(100, [{ name: 'compatible', value: 'published' }], 1_000)
    expect(ask(resource, 'a', 1_001, 10, lease(60, 1_030)).capacity).toBe(60)
    expect(ask(resource, 'b', 1_001, 10).capacity).toBe(0)
    expect(ask(resource, 'c', 1_060, 10).capacity).toBe(10)
  })
})

describe('a node that succeeds another master', () => {
  it.each([
    [10, undefined, 300],
    [10, 300, 10],
  ])('reserves for its own %i s, its learning of %s s, or its parent’s %i s', (leaseLength, learning, parents) => {
    const { algorithm } = template()
    const own = { ...algorithm, leaseLength, ...(learning === undefined ? {} : { learningModeDuration: learning }) }
    const node = new ServerResource('r', template(100, [], { algorithm: own }), 1_000, world(false))
    ask(node, 'new', 1_001, 50)
    node.ask(1_001, MINIMUM_SECONDS)
    const gets = lease(100, 1_001 + parents)
    node.answered({ resourceId: 'r', gets, algorithm: { ...algorithm, leaseLength: parents } }, 1_001)
    expect([node.reserve(1_299), node.reserve(1_300)]).toEqual([100, 0])
  })
})

describe('a root with servers', () => {
  function askServer(
    resource: ServerResource,
    now: number,
    wants: number,
    outstanding: number | undefined,
    has?: Lease,
    numClients = 1,
    id = 's',
  ): ServerCapacityResourceResponse {
    return resource.decideServer(
      id,
      {
        resourceId: 'r',
        wants: [{ priority: 0, numClients, wants }],
        ...(outstanding === undefined ? {} : { outstanding }),
        ...(has === undefined ? {} : { has }),
      },
      now,
    )!
  }

  it('counts a server as the clients that it speaks for', () => {
    const resource = root()
    const servers: { [id: string]: ServerCapacityResourceResponse } = {}
    for (let now = 1_000; now < 1_020; now += 2)
      for (const [id, clients] of [
        ['s', 3],
        ['t', 1],
      ] as const) {
        const { gets, target = 0 } = servers[id] ?? {}
        // Each server reduces to its target at once.
        const outstanding = Math.min(gets?.capacity ?? 0, target)
        servers[id] = askServer(resource, now, 500, outstanding, gets, clients, id)
      }
    expect(servers['s']!.gets.capacity).toBeCloseTo(75, 9)
    expect(servers['t']!.gets.capacity).toBeCloseTo(25, 9)
  })

  it('says where a server should go, and takes nothing that it has promised to others', () => {
    const resource = root()
    const first = askServer(resource, 1_000, 200, 0)
    expect(first).toMatchObject({ target: 100, inherited: 0, gets: { capacity: 100 } })
    ask(resource, 'a', 1_001, 200)
    const second = askServer(resource, 1_002, 200, 100, first.gets)
    expect(second).toMatchObject({ target: 50, gets: { capacity: 100, refreshInterval: 2 } })
    expect(second.inherited).toBeUndefined()
    expect(askServer(resource, 1_004, 200, 70, second.gets).gets.capacity).toBe(70)
    // It has promised not to use more, so the rest is free at once.
    expect(ask(resource, 'a', 1_004, 200).capacity).toBe(30)
  })

  it('takes back no promise because of a question from before it', () => {
    const resource = root()
    const all = askServer(resource, 1_000, 100, 0).gets
    const again = askServer(resource, 1_007, 100, 100, all).gets
    expect(again.capacity).toBe(100)
    ask(resource, 'a', 1_008, 100)
    // Sent before the server granted its clients anything; the answer is lost.
    askServer(resource, 1_009, 100, 0, all)
    expect(ask(resource, 'a', 1_010, 100).capacity).toBe(0)
    const shown = askServer(resource, 1_012, 100, 100, again).gets
    expect(shown.capacity).toBe(100)
    expect(askServer(resource, 1_014, 100, 50, shown).gets.capacity).toBe(50)
    expect(ask(resource, 'a', 1_015, 100).capacity).toBe(50)
  })

  it('gives a successor the lease of its node, and says so', () => {
    const resource = root()
    askServer(resource, 1_000, 80, 0)
    const successor = askServer(resource, 1_001, 5, 0)
    expect(successor.inherited).toBe(88)
    expect(successor.gets.capacity).toBe(88)
    expect(successor.target).toBe(88)
  })

  it('does not know what a successor has inherited while it learns itself', () => {
    const resource = root(100, [], 1_000)
    const answer = askServer(resource, 1_001, 50, 20)
    expect(answer.inherited).toBeUndefined()
    expect(resource.ledger.held).toBe(20)
    expect(resource.reserve(1_001)).toBe(80)
    // More of the old leases shows up behind it.
    askServer(resource, 1_003, 50, 35, lease(20, 1_060))
    expect([resource.ledger.held, resource.reserve(1_003)]).toEqual([35, 65])
  })

  it('believes what a server has promised rather than its lease, which the predecessor may have cut', () => {
    const resource = root(100, [], 1_000)
    askServer(resource, 1_001, 50, 20, lease(80, 1_050))
    expect([resource.ledger.held, resource.reserve(1_001)]).toEqual([20, 80])
  })

  it('counts what an unknown server has promised for a lease length, but extends nothing that is not covered', () => {
    const inner = new ServerResource('r', template(), 1_000, world(false))
    // The node has no lease of its own yet, and the server does not know its old one.
    expect(askServer(inner, 1_001, 50, 20).gets).toMatchObject({ capacity: 0, expiryTime: 1_001 })
    expect(inner.ledger.held).toBe(20)
    expect(askServer(inner, 1_003, 50, 15).gets).toMatchObject({ capacity: 0, expiryTime: 1_003 })
    expect(inner.ledger.held).toBe(20)
    expect(askServer(inner, 1_005, 50, 30, lease(30, 1_040)).gets).toMatchObject({ capacity: 30, expiryTime: 1_040 })
  })

  it('cuts a published server, that promises nothing, as it would a client', () => {
    const resource = root()
    const first = askServer(resource, 1_000, 200, undefined)
    ask(resource, 'a', 1_001, 200)
    expect(askServer(resource, 1_002, 200, undefined).gets.capacity).toBe(50)
    expect(ask(resource, 'a', 1_003, 200).capacity).toBe(0)
    expect(first.gets.capacity).toBe(100)
    askServer(resource, 1_004, 200, undefined)
    expect(ask(resource, 'a', 1_005, 200).capacity).toBe(50)
  })
})
