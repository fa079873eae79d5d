import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { ClientTls } from '../tls.js'

/**
 * The part of `fetch` that `overHttp` needs, with a private authority and a client certificate, which the platform's
 * `fetch` does not support. Each call has its own connection, so that none is found dead; TLS sessions are resumed.
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
