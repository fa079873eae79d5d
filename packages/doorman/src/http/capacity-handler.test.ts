import { CapacityError, type CapacityService, overHttp } from '@fairlead/core/doorman'
import { until } from '@fairlead-testing/waiting'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { capacityHandler } from './capacity-handler.js'
import { type HttpPort, serveHttp } from './server.js'

let port: HttpPort
let url: string
let service: CapacityService
let masterUrl: string | undefined

const lease = { expiryTime: 4_102_444_800, refreshInterval: 8, capacity: 7 }

beforeEach(async () => {
  masterUrl = undefined
  service = {
    discovery: () => ({ mastership: { masterAddress: 'master:8080' }, isMaster: false }),
    getCapacity: ({ resource }) => ({ response: resource.map(({ resourceId }) => ({ resourceId, gets: lease })) }),
    getServerCapacity: () => ({ response: [] }),
    releaseCapacity: () => ({}),
  }
  const handler = capacityHandler({
    service: () => service,
    masterUrl: () => masterUrl,
    maxRequestBytes: 4 << 20,
    corsOrigins: ['https://app.example'],
  })
  const log = { info: () => {}, warn: () => {}, error: () => {} }
  port = await serveHttp({ handler, host: '127.0.0.1', port: 0, tls: undefined, log })
  url = `http://127.0.0.1:${port.port}`
})

afterEach(() => port.close(0))

function post(path: string, body: string): Promise<Response> {
  return fetch(url + path, { method: 'POST', body })
}

const GET_CAPACITY = '/doorman.Capacity/GetCapacity'

describe('the service over HTTP', () => {
  it('has all four calls', async () => {
    const node = overHttp({ url }).connect()
    expect(await node.getCapacity({ clientId: 'c', resource: [{ resourceId: 'db', priority: 0, wants: 1 }] })).toEqual({
      response: [{ resourceId: 'db', gets: lease }],
    })
    expect(await node.getServerCapacity({ serverId: 's', resource: [] })).toEqual({ response: [] })
    expect(await node.releaseCapacity({ clientId: 'c', resourceId: ['db'] })).toEqual({})
    expect(await node.discovery({})).toEqual({ mastership: {}, isMaster: false })
  })

  it('speaks proto3 JSON, and understands the original names', async () => {
    const body = '{"client_id":"c","resource":[{"resource_id":"db","priority":"0","wants":1}]}'
    const response = await post(GET_CAPACITY, body)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toEqual({
      response: [{ resourceId: 'db', gets: { expiryTime: '4102444800', refreshInterval: '8', capacity: 7 } }],
    })
  })

  it('names the master for HTTP, not for gRPC; nothing if it is unknown', async () => {
    service.getCapacity = () => ({ response: [], mastership: { masterAddress: 'master:8080' } })
    const body = '{"clientId":"c"}'
    expect(await (await post(GET_CAPACITY, body)).json()).toEqual({ response: [], mastership: {} })
    masterUrl = 'http://master:8081'
    const mastership = { masterAddress: 'http://master:8081' }
    expect(await (await post(GET_CAPACITY, body)).json()).toEqual({ response: [], mastership })
    service.getCapacity = () => ({ response: [], mastership: {} })
    expect(await (await post(GET_CAPACITY, body)).json()).toEqual({ response: [], mastership: {} })
  })

  it.each([
    ['{', 400, /the body must be JSON/],
    ['[]', 400, /the message must be an object/],
    ['{"clientId":1}', 400, /clientId must be a string, got 1/],
    [`"${'x'.repeat(5 << 20)}"`, 400, /the body must be at most/],
  ])('refuses a body that is not the message: %.20s', async (body, status, message) => {
    const response = await post(GET_CAPACITY, body)
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({ code: 'invalid_argument', message: expect.stringMatching(message) })
  })

  it('tells a refusal by its code, and what is our own fault as internal', async () => {
    service.getCapacity = () => {
      throw new CapacityError('unavailable', 'the server is starting')
    }
    service.releaseCapacity = () => Promise.reject(new Error('broken'))
    const starting = await post(GET_CAPACITY, '{"clientId":"c"}')
    expect(starting.status).toBe(503)
    expect(await starting.json()).toEqual({ code: 'unavailable', message: 'the server is starting' })
    expect((await post('/doorman.Capacity/ReleaseCapacity', '{"clientId":"c"}')).status).toBe(500)
  })

  it('knows no other path and no other method', async () => {
    expect((await post('/doorman.Capacity/Other', '{}')).status).toBe(404)
    const got = await fetch(url + GET_CAPACITY)
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('answers what is under way before it closes', async () => {
    let answer: (() => void) | undefined
    service.releaseCapacity = () =>
      new Promise((resolve) => {
        answer = () => resolve({})
      })
    const underWay = post('/doorman.Capacity/ReleaseCapacity', '{"clientId":"c"}')
    await until('the call arrives', () => answer !== undefined)
    const closed = port.close(60_000)
    answer!()
    expect((await underWay).status).toBe(200)
    await closed
  })
})
