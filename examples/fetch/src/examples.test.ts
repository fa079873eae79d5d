import type { Gate } from '@fairlead/core'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { describe, expect, it } from 'vitest'
import { handler as elysia } from './elysia.js'
import { handler as h3 } from './h3.js'
import { handler as mcp } from './mcp.js'
import { GET, gate as nextGate } from './next-route.js'
import { handler as trpc } from './trpc.js'
import { handler as yoga } from './yoga.js'

const SITE = 'http://localhost'

function ask(url: string, body?: unknown): Request {
  const headers = { 'x-api-key': 'blue', 'x-real-ip': '198.51.100.7', 'content-type': 'application/json' }
  return new Request(`${SITE}${url}`, body === undefined ? { headers } : post(headers, body))
}

function post(headers: Record<string, string>, body: unknown): RequestInit {
  return { method: 'POST', headers, body: JSON.stringify(body) }
}

/** Collects the flows and costs admitted from now on. */
function admitted(gate: Gate): [flow: string, cost: number][] {
  const seen: [string, number][] = []
  gate.observe((event) => {
    if (event.type === 'admitted') seen.push([event.flow, event.cost])
  })
  return seen
}

describe.each<[string, Gate, () => Promise<Response>, unknown, [string, number]]>([
  ['h3', h3.gate, () => h3(ask('/items')), ['rope', 'cleat'], ['blue', 1]],
  ['Elysia', elysia.gate, () => elysia(ask('/items')), ['rope', 'cleat'], ['blue', 1]],
  [
    'tRPC',
    trpc.gate,
    () => trpc(ask('/trpc/items,items?batch=1')),
    new Array(2).fill({ result: { data: ['rope', 'cleat'] } }),
    ['blue', 2],
  ],
  [
    'GraphQL Yoga',
    yoga.gate,
    () => yoga(ask('/graphql', { query: '{ items }' })),
    { data: { items: ['rope', 'cleat'] } },
    ['blue', 1],
  ],
  [
    'a route handler of Next',
    nextGate,
    () => GET(ask('/items/7'), { params: Promise.resolve({ id: '7' }) }),
    { id: '7' },
    ['ip:198.51.100.7', 1],
  ],
])('%s', (name, gate, call, answer, flow) => {
  it('serves, knows the flow, holds nothing at the end, and refuses', async () => {
    const seen = admitted(gate)
    const response = await call()
    expect(await response.json()).toEqual(answer)
    expect(seen).toEqual([flow])
    expect(gate.snapshot()).toMatchObject({ inFlight: 0, finished: { success: 1 } })
    if (name === 'GraphQL Yoga') {
      await (await yoga(ask('/graphql', { query: '{ report }' }))).text()
      expect(gate.snapshot().finished).toEqual({ success: 1, failure: 1, ignored: 0 })
    }
    gate.close()
    expect((await call()).status).toBe(503)
  })
})

it('MCP: tools have their costs, and a refusal is an error of the call, with the time to wait', async () => {
  const client = new Client({ name: 'agent', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(`${SITE}/mcp`), {
    fetch: (url, init) => mcp(new Request(url, init)),
  })
  // Its optional fields are declared without undefined.
  await client.connect(transport as Parameters<Client['connect']>[0])
  const seen = admitted(mcp.gate)
  const items = await client.callTool({ name: 'items' })
  const report = await client.callTool({ name: 'report', arguments: { year: 2026 } })
  expect([items.content, report.content]).toEqual([
    [{ type: 'text', text: 'rope, cleat' }],
    [{ type: 'text', text: '2026: 10 pages' }],
  ])
  expect(seen).toEqual([
    [transport.sessionId, 1],
    [transport.sessionId, 10],
  ])
  expect(mcp.gate.snapshot().inFlight).toBe(0)
  mcp.gate.close()
  await expect(client.callTool({ name: 'items' })).rejects.toMatchObject({
    code: -32_000,
    data: { reason: 'closed', retryAfterMs: 1_000 },
  })
})
