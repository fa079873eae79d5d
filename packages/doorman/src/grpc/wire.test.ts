import { describe, expect, it } from 'vitest'
import { WRITTEN } from '../fixtures/bytes.js'
import { WIRE, type Wire } from './wire.js'

/** `bytes` decodes to `message`, and `message` encodes to the same bytes. */
function expectBoth<T>({ decode, encode }: Wire<T>, bytes: Buffer, message: T): void {
  expect(decode(bytes)).toEqual(message)
  expect(encode(message).toString('hex')).toBe(bytes.toString('hex'))
}

const mastership = { masterAddress: 'doorman-2:8080' }

describe('the messages as bytes', () => {
  it('are those of another implementation for GetCapacity', () => {
    expectBoth(WIRE.getCapacity.request, WRITTEN.getCapacityRequest, {
      clientId: 'host:7:0',
      resource: [
        {
          resourceId: 'db/queries',
          priority: 3,
          has: { expiryTime: 1_700_000_300, refreshInterval: 16, capacity: 12.5 },
          wants: 20.25,
          weight: 2,
        },
        { resourceId: 'ü', priority: 0, wants: 0 },
      ],
    })
    expectBoth(WIRE.getCapacity.response, WRITTEN.getCapacityResponse, {
      response: [
        {
          resourceId: 'db/queries',
          gets: { expiryTime: 4_102_444_800, refreshInterval: 8, capacity: -1 },
          safeCapacity: 0.125,
        },
      ],
    })
    expectBoth(WIRE.getCapacity.response, WRITTEN.redirect, { response: [], mastership })
  })

  it('are those of another implementation for GetServerCapacity', () => {
    expectBoth(WIRE.getServerCapacity.request, WRITTEN.getServerCapacityRequest, {
      serverId: 'region',
      resource: [
        {
          resourceId: 'db',
          has: { expiryTime: 1_700_000_060, refreshInterval: 4, capacity: 100 },
          wants: [
            { priority: 1, numClients: 45, wants: 675, weight: 50 },
            { priority: 0, numClients: 1, wants: 7 },
          ],
          outstanding: 90.5,
        },
      ],
    })
    expectBoth(WIRE.getServerCapacity.response, WRITTEN.getServerCapacityResponse, {
      response: [
        {
          resourceId: 'db',
          gets: { expiryTime: 1_700_000_060, refreshInterval: 4, capacity: 100 },
          algorithm: {
            kind: 'FAIR_SHARE',
            leaseLength: 60,
            refreshInterval: 16,
            parameters: [{ name: 'decay_factor', value: '0.5' }],
            learningModeDuration: 30,
          },
          safeCapacity: 10,
          target: 95,
          inherited: 80,
        },
      ],
      mastership,
    })
  })

  it('are those of another implementation for ReleaseCapacity and Discovery', () => {
    const released = { clientId: 'host:7:0', resourceId: ['a', 'b'] }
    expectBoth(WIRE.releaseCapacity.request, WRITTEN.releaseCapacityRequest, released)
    expectBoth(WIRE.releaseCapacity.response, WRITTEN.releaseCapacityResponse, { mastership })
    expectBoth(WIRE.discovery.response, WRITTEN.discoveryResponse, { mastership, isMaster: true })
    expectBoth(WIRE.discovery.request, Buffer.alloc(0), {})
  })

  it('may have unknown fields', () => {
    const known = { clientId: 'c', resource: [{ resourceId: 'db', priority: 0, wants: 1 }] }
    expect(WIRE.getCapacity.request.decode(WRITTEN.withUnknownFields)).toEqual(known)
  })

  it('are refused without a field that is required, and when they end too soon', () => {
    expect(() => WIRE.getCapacity.request.decode(WRITTEN.withoutPriority)).toThrow(/priority/)
    expect(() => WIRE.getCapacity.request.decode(WRITTEN.getCapacityRequest.subarray(0, 15))).toThrow()
  })
})
