import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ALGORITHM_KINDS, CAPACITY_JSON, CapacityError, type GetCapacityRequest, type Lease } from './index.js'

const { discovery, getCapacity, getServerCapacity, releaseCapacity } = CAPACITY_JSON

const lease = { expiryTime: '1800000060', refreshInterval: '16', capacity: 2.5 }
const request = { clientId: 'c', resource: [{ resourceId: 'r', priority: '0', wants: 7 }] }

const int64 = fc.maxSafeInteger()
/** JSON has a single zero. */
const double = fc.double().map((value) => value + 0)
const text = fc.string()
const optional = <K extends string, T>(name: K, value: fc.Arbitrary<T>): fc.Arbitrary<{ [N in K]?: T }> =>
  fc.oneof(
    fc.constant({}),
    value.map((item) => ({ [name]: item }) as { [N in K]?: T }),
  )
const join = <A, B>(a: fc.Arbitrary<A>, b: fc.Arbitrary<B>): fc.Arbitrary<A & B> =>
  fc.tuple(a, b).map(([left, right]) => ({ ...left, ...right }))
const leases: fc.Arbitrary<Lease> = fc.record({ expiryTime: int64, refreshInterval: int64, capacity: double })

describe('messages as JSON', () => {
  it('have int64 as strings, doubles as numbers where JSON has one, and enums by name', () => {
    expect(
      getCapacity.request.write({
        clientId: 'c',
        resource: [
          {
            resourceId: 'r',
            priority: -3,
            has: { expiryTime: 1_800_000_060, refreshInterval: 16, capacity: 2.5 },
            wants: Number.POSITIVE_INFINITY,
            weight: 2,
          },
        ],
      }),
    ).toEqual({
      clientId: 'c',
      resource: [{ resourceId: 'r', priority: '-3', has: lease, wants: 'Infinity', weight: 2 }],
    })
    expect(
      getServerCapacity.response.write({
        response: [
          {
            resourceId: 'r',
            gets: { expiryTime: 1, refreshInterval: 2, capacity: Number.NaN },
            algorithm: { kind: 'FAIR_SHARE', leaseLength: 60, refreshInterval: 8, parameters: [{ name: 'headroom' }] },
            inherited: 4,
            target: Number.NEGATIVE_INFINITY,
          },
        ],
      }),
    ).toEqual({
      response: [
        {
          resourceId: 'r',
          gets: { expiryTime: '1', refreshInterval: '2', capacity: 'NaN' },
          algorithm: {
            kind: 'FAIR_SHARE',
            leaseLength: '60',
            refreshInterval: '8',
            parameters: [{ name: 'headroom' }],
          },
          inherited: 4,
          target: '-Infinity',
        },
      ],
    })
  })

  it('are read from either names, from numbers in strings, without unknown fields and what is null', () => {
    expect(
      getCapacity.response.read({
        response: [
          { resource_id: 'r', gets: { ...lease, expiry_time: null, capacity: '1e3' }, safeCapacity: null, x: 1 },
        ],
        mastership: { master_address: 'm:1' },
        later: {},
      }),
    ).toEqual({
      response: [{ resourceId: 'r', gets: { expiryTime: 1_800_000_060, refreshInterval: 16, capacity: 1_000 } }],
      mastership: { masterAddress: 'm:1' },
    })
    expect(getCapacity.response.read({ mastership: {} })).toEqual({ response: [], mastership: {} })
    expect(getCapacity.response.read({})).toEqual({ response: [] })
    expect(discovery.request.read({ any: 1 })).toEqual({})
  })

  it.each(ALGORITHM_KINDS.map((kind, number) => [kind, number] as const))(
    'know %s by name and number',
    (kind, number) => {
      for (const given of [kind, number]) {
        const algorithm = { kind: given, leaseLength: 60, refreshInterval: 8 }
        const { response } = getServerCapacity.response.read({
          response: [{ resourceId: 'r', gets: lease, algorithm }],
        })
        expect(response[0]!.algorithm!.kind).toBe(kind)
      }
    },
  )

  it.each<[string, unknown, string]>([
    ['no object', 'x', 'the message must be an object, got "x"'],
    ['an array', [], 'the message must be an object, got an array'],
    ['null', null, 'the message must be an object, got null'],
    ['no client', { ...request, clientId: undefined }, 'clientId must be a string, got undefined'],
    ['no array', { ...request, resource: {} }, 'resource must be an array, got an object'],
    ['no wants', { clientId: 'c', resource: [{ resourceId: 'r', priority: 0 }] }, 'resource[0].wants must be a number'],
    [
      'no priority',
      { clientId: 'c', resource: [{ resourceId: 'r', wants: 0 }] },
      'resource[0].priority must be a whole',
    ],
    ...['many', '', ' ', '0x10', '1e999', '--1', '1.2.3', true, {}].map((wants): [string, unknown, string] => [
      `wants of ${JSON.stringify(wants)}`,
      { clientId: 'c', resource: [request.resource[0], { resourceId: 'r', priority: 0, wants }] },
      'resource[1].wants must be a number, got',
    ]),
    ...[0.5, '0.5', '9007199254740993', 2 ** 53, 'NaN'].map((priority): [string, unknown, string] => [
      `priority of ${priority}`,
      { clientId: 'c', resource: [{ resourceId: 'r', priority, wants: 1 }] },
      'resource[0].priority must be a whole number, got',
    ]),
    [
      'a lease without its end',
      {
        clientId: 'c',
        resource: [{ resourceId: 'r', priority: 0, wants: 1, has: { ...lease, expiryTime: undefined } }],
      },
      'resource[0].has.expiryTime must be a whole number, got undefined',
    ],
  ])('are refused by name: %s', (_, json, message) => {
    const read = (): GetCapacityRequest => getCapacity.request.read(json)
    expect(read).toThrow(CapacityError)
    expect(read).toThrow(message)
    try {
      read()
    } catch (error) {
      expect(error).toMatchObject({ code: 'invalid_argument' })
    }
  })

  it('refuse what is no kind of algorithm, and no flag', () => {
    const algorithm = { kind: 'MAGIC', leaseLength: 60, refreshInterval: 8 }
    const json = { response: [{ resourceId: 'r', gets: lease, algorithm }] }
    expect(() => getServerCapacity.response.read(json)).toThrow(
      'response[0].algorithm.kind must be one of NO_ALGORITHM',
    )
    expect(() => discovery.response.read({ mastership: {}, isMaster: 'yes' })).toThrow('isMaster must be true or false')
  })

  it('come back as they went, through text', () => {
    const clients = fc.record({
      clientId: text,
      resource: fc.array(
        join(
          fc.record({ resourceId: text, priority: int64, wants: double }),
          join(optional('has', leases), optional('weight', double)),
        ),
      ),
    })
    const servers = fc.record({
      serverId: text,
      resource: fc.array(
        join(
          fc.record({
            resourceId: text,
            wants: fc.array(
              join(fc.record({ priority: int64, numClients: int64, wants: double }), optional('weight', double)),
            ),
          }),
          join(optional('has', leases), optional('outstanding', double)),
        ),
      ),
    })
    const through = (json: unknown): unknown => JSON.parse(JSON.stringify(json))
    fc.assert(
      fc.property(clients, servers, fc.array(text), (client, server, ids) => {
        const same = (read: unknown, written: unknown): void => expect(read).toEqual(written)
        same(getCapacity.request.read(through(getCapacity.request.write(client))), client)
        same(getServerCapacity.request.read(through(getServerCapacity.request.write(server))), server)
        const release = { clientId: 'c', resourceId: ids }
        same(releaseCapacity.request.read(through(releaseCapacity.request.write(release))), release)
      }),
    )
  })
})
