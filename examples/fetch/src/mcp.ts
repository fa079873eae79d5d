// An MCP server over HTTP: fair between sessions, with a cost per tool, and refusals that agents can read.
import { type FairFetch, fairFetch } from '@fairlead/core/fetch'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { z } from 'zod'

/** Cost of a call by tool; everything else costs 1. */
const COSTS: Readonly<Record<string, number>> = { report: 10 }

/** The part of a JSON-RPC message that this file reads. */
interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: { readonly name?: string }
}

function makeServer(): McpServer {
  const server = new McpServer({ name: 'chandlery', version: '1.0.0' })
  const text = (text: string) => ({ content: [{ type: 'text' as const, text }] })
  server.registerTool('items', { description: 'What is in store' }, () => text('rope, cleat'))
  server.registerTool('report', { description: 'All of a year', inputSchema: { year: z.number() } }, ({ year }) =>
    text(`${year}: 10 pages`),
  )
  return server
}

const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()

async function serve(request: Request): Promise<Response> {
  const known = sessions.get(request.headers.get('mcp-session-id') ?? '')
  if (known !== undefined) return known.handleRequest(request)
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
    enableJsonResponse: true,
  })
  await makeServer().connect(transport)
  return transport.handleRequest(request)
}

/** The message of a request, whose body stays unread. */
async function messageOf(request: Request): Promise<Message> {
  return (await request.clone().json()) as Message
}

export const handler: FairFetch<[]> = fairFetch(serve, {
  // With authentication, prefer the agent or its owner: a client may open any number of sessions.
  flow: (request) => request.headers.get('mcp-session-id') ?? undefined,
  cost: async (request) => {
    const { method, params } = await messageOf(request)
    return method === 'tools/call' ? COSTS[params?.name ?? ''] : 1
  },
  // Other methods open the server's message stream, or end a session.
  skip: (request) => request.method !== 'POST',
  handler: async (request, { refusal }) => {
    const { reason, retryAfterMs } = refusal
    const error = { code: -32_000, message: `Refused: ${reason}`, data: { reason, retryAfterMs } }
    // An error of the call, not of the transport, which clients would treat as the end of the session.
    return Response.json({ jsonrpc: '2.0', id: (await messageOf(request)).id ?? null, error })
  },
})
