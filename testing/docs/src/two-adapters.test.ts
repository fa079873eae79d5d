import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGate, type Gate, refuse } from '@fairlead/core'
import { fairHandler } from '@fairlead/core/node'
import { probeStage } from '@fairlead/core/testing'
import * as forExpress from '@fairlead/express'
import { fairPlugin } from '@fairlead/fastify'
import * as forHono from '@fairlead/hono'
import * as forKoa from '@fairlead/koa'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterEach, describe, expect, it, vi } from 'vitest'

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

/** A framework's server with this gate, which passes all requests to the listener. */
type MakeServer = (gate: Gate, next: Listener) => Listener | Promise<Listener>

const silent = { onWarning: () => {} }

const SERVERS: Readonly<Record<string, MakeServer>> = {
  'node:http': (gate, next) => fairHandler(next, { gate, ...silent }),
  Express(gate, next) {
    const app = express()
    app.use(forExpress.fairMiddleware({ gate, ...silent }))
    app.use((req, res) => void next(req, res))
    return app
  },
  Koa(gate, next) {
    const app = new Koa()
    app.use(forKoa.fairMiddleware({ gate, ...silent }))
    app.use((ctx) => {
      ctx.respond = false
      ctx.res.statusCode = 200
      next(ctx.req, ctx.res)
    })
    return app.callback()
  },
  Hono(gate, next) {
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.use(forHono.fairMiddleware({ gate, ...silent }))
    app.all('*', (c) => {
      next(c.env.incoming as IncomingMessage, c.env.outgoing as ServerResponse)
      return RESPONSE_ALREADY_SENT
    })
    return getRequestListener(app.fetch)
  },
  async Fastify(gate, next) {
    const app = fastify()
    await app.register(fairPlugin, { gate, ...silent })
    app.all('*', (request, reply) => {
      reply.hijack()
      next(request.raw, reply.raw)
    })
    await app.ready()
    return (request, response) => app.routing(request, response)
  },
}

const PAIRS = Object.keys(SERVERS).flatMap((outer) => Object.keys(SERVERS).map((inner) => [outer, inner] as const))

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** The status of one request to a server of the first framework that has one of the second inside. */
async function ask(pair: readonly [string, string], outer: Gate, inner: Gate): Promise<number> {
  const behind = await SERVERS[pair[1]]!(inner, (_request, response) => response.end('done'))
  const server = createServer((await SERVERS[pair[0]]!(outer, behind)) as Listener).listen(0, '127.0.0.1')
  closers.push(() => void server.close())
  await once(server, 'listening')
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  await answer.text()
  return answer.status
}

describe('an app inside another framework’s app', () => {
  it.each(PAIRS)('%s, with %s inside: the gate of both judges a request once', async (...pair) => {
    const gate = createGate({ fair: false })
    expect(await ask(pair, gate, gate)).toBe(200)
    expect(gate.snapshot()).toMatchObject({ admitted: 1, refused: 0 })
    await vi.waitFor(() => expect(gate.snapshot()).toMatchObject({ inFlight: 0, finished: { success: 1 } }))
  })

  it.each(PAIRS)('%s, with %s inside: a refusal of the inner gate is no failure outside', async (...pair) => {
    const probe = probeStage()
    const full = { name: 'full', admit: () => refuse('full', 'over-quota', false, 1_000) }
    const outer = createGate({ fair: false, stages: [probe] })
    expect(await ask(pair, outer, createGate({ fair: false, stages: [full] }))).toBe(429)
    await vi.waitFor(() => expect(probe.outcomes).toEqual(['ignored']))
  })
})
