import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { ClientTls } from '../tls.js'

/**
 * `fetch` as far as `overHttp` needs it: it knows the servers by an authority of its own, and shows a certificate, which
 * the platform's cannot. Each call has a connection of its own, so that none is found dead; TLS sessions are resumed.
 */
export function tlsFetch(tls: ClientTls): typeof fetch {
  const agent = new Agent({ ...tls })
  return async (input, { method = 'GET', headers, body, signal } = {}) => {
    const outgoing = request(input instanceof Request ? input.url : input, {
      agent,
      method,
      headers: Object.fromEntries(new Headers(headers)),
      ...(signal ? { signal } : {}),
    })
    outgoing.end(body)
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    const answer = await text(incoming)
    return new Response(answer === '' ? null : answer, { status: incoming.statusCode! })
  }
}
