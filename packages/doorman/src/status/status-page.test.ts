import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fairShare } from '../fixtures/repository.js'
import { overGrpc } from '../grpc/transport.js'
import { type Doorman, startDoorman } from '../start-doorman.js'
import { statusPage } from './status-page.js'

let doorman: Doorman

beforeEach(async () => {
  const config = fairShare(100)
  config.resources.unshift({
    ...config.resources[0]!,
    identifierGlob: 'db',
    safeCapacity: 3,
    description: 'Ours & <yours>',
  })
  doorman = await startDoorman({
    config,
    host: '127.0.0.1',
    hostname: '127.0.0.1',
    debugPort: 0,
    minimumRefreshMs: 0,
    fresh: true,
  })
})

afterEach(() => doorman.close())

function get(path: string): Promise<Response> {
  return fetch(doorman.debugUrl + path)
}

function ask(clientId: string, resourceId: string, wants: number): void {
  doorman.server.getCapacity({ clientId, resource: [{ resourceId, priority: 0, wants }] })
}

describe('the status page', () => {
  it('says who the master is, and which rules there are', async () => {
    const page = await (await get('/')).text()
    expect(page).toContain('>master</span>')
    expect(page).toContain(doorman.address)
    expect(page).toContain('No client has asked for anything yet')
    expect(page).toContain('Ours &#38; &#60;yours&#62;')
  })

  it('shows each resource, and the clients of one', async () => {
    ask('web-1', 'db', 60)
    ask('web-2', 'db', 80)
    ask('<script>', 'other', 1)
    const page = await (await get('/')).text()
    expect(page).toContain('100 leased, 140 wanted, of 100')
    expect(page).toContain('?resource=other')
    const clients = await (await get('/?resource=db')).text()
    expect(clients).toContain('web-1')
    expect(clients.indexOf('web-1')).toBeLessThan(clients.indexOf('web-2'))
    expect(clients).toContain('2 clients')
    const other = await (await get('/?resource=other')).text()
    expect(other).toContain('&#60;script&#62;')
    expect(other).not.toContain('<script>')
  })

  it('shows the largest two hundred of many clients', async () => {
    for (let i = 0; i < 250; i++) ask(`client-${i}`, 'other', 0.01 + i / 1_000)
    const page = await (await get('/?resource=other')).text()
    expect(page).toContain('>client-249 <')
    expect(page).not.toContain('>client-10 <')
    expect(page).toContain('and 50 smaller ones')
  })

  it('shows the two hundred resources of many of which most is wanted', async () => {
    for (let i = 0; i < 260; i++) ask('web', `r${i}`, 1 + i)
    const page = await (await get('/')).text()
    expect([...page.matchAll(/<a href="\?resource=r(\d+)"/g)].map(([, i]) => Number(i))).toEqual(
      Array.from({ length: 200 }, (_, i) => 259 - i),
    )
    expect(page).toContain('and 60 smaller ones')
  })

  it('draws the last minutes, and looks again by itself', async () => {
    const samples = [10, 20, 40].map((wants) => ({ has: wants / 2, wants, waiting: 5, capacity: 30 }))
    ask('web', 'db', 60)
    const page = await statusPage({
      ...{ snapshot: await doorman.server.summary(), address: 'a:1', httpUrl: undefined, serverRole: 'root' },
      ...{ lock: undefined, parent: undefined, startedAt: 0, now: 60, problems: [], resource: undefined, children: [] },
      past: () => samples,
    })
    // The newest value is on the right, and the maximum at the top.
    const lineOf = (points: string): string =>
      page.match(`<polyline points="${points}"[^>]* stroke="([^"]*)"`)?.[1] ?? ''
    expect(lineOf('0.0,22.0 70.0,15.0 140.0,1.0')).toBe('var(--c6)')
    expect(lineOf('0.0,25.5 70.0,25.5 140.0,25.5')).toBe('var(--bad)')
    expect(page).toContain('<meta http-equiv="refresh" content="5">')
  })

  it('lets a keyboard scroll what is wider than a screen, and says what it is', async () => {
    ask('web', 'db', 60)
    const pages = (await (await get('/')).text()) + (await (await get('/?resource=db')).text())
    const regions = [...pages.matchAll(/<section class="scroll"([^>]*)>/g)].map(([, attributes]) => attributes)
    expect(regions).toHaveLength(5)
    for (const region of regions) expect(region).toMatch(/^ tabindex="0" aria-label="[A-Z][a-z ]+"$/)
  })

  it('needs nothing from anywhere else', async () => {
    const response = await get('/')
    expect(response.headers.get('content-security-policy')).toBe("default-src 'none'; style-src 'unsafe-inline'")
    expect(await response.text()).not.toMatch(/src=|<link|@import|url\(/)
  })

  it('has neighbours: /metrics, /healthz, the published path; and no others', async () => {
    ask('web-1', 'db', 60)
    const metrics = await (await get('/metrics')).text()
    expect(metrics).toContain('doorman_server_wants{resource="db"} 60')
    expect(metrics).toContain('doorman_server_is_master 1')
    const mastership = { isMaster: true, masterAddress: doorman.address }
    expect(await (await get('/healthz')).json()).toEqual({ status: 'ok', ...mastership })
    expect((await get('/debug/status')).status).toBe(200)
    expect((await get('/favicon.ico')).status).toBe(404)
    expect((await fetch(doorman.debugUrl!, { method: 'POST' })).status).toBe(405)
  })

  it('counts the requests of each method, those that were refused too', async () => {
    const transport = overGrpc({ address: doorman.address })
    const node = transport.connect()
    await node.discovery({})
    await node.getCapacity({ clientId: 'c', resource: [] })
    await expect(node.getCapacity({ clientId: '', resource: [] })).rejects.toThrow('client_id')
    transport.close()
    const metrics = await (await get('/metrics')).text()
    expect(metrics).toContain('doorman_server_requests{method="GetCapacity"} 2')
    expect(metrics).toContain('doorman_server_request_errors{method="GetCapacity"} 1')
    expect(metrics).toContain('doorman_server_request_durations_count{method="GetCapacity"} 2')
    expect(metrics).toContain('doorman_server_requests{method="Discovery"} 1')
  })
})
