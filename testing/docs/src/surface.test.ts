import { describe, expect, it } from 'vitest'
import { compile } from './compile.js'
import type { Example } from './page.js'

/**
 * Programs as users will write them from 1.0 on. Each compiles against the packages as strictly as the repository does:
 * a changed name, option or form is a change for users.
 */
const PROGRAMS: Readonly<Record<string, string>> = {
  'one line, in each framework': `
    import { fairMiddleware } from '@fairlead/express'
    import { fairMiddleware as forKoa } from '@fairlead/koa'
    import { fairMiddleware as forHono } from '@fairlead/hono'
    import { fairPlugin } from '@fairlead/fastify'
    import { fairHandler } from '@fairlead/core/node'
    import express from 'express'
    import { fastify } from 'fastify'
    import { Hono } from 'hono'
    import Koa from 'koa'
    express().use(fairMiddleware())
    new Koa().use(forKoa())
    new Hono().use(forHono())
    await fastify().register(fairPlugin)
    export const listener = fairHandler((_request, response) => void response.end())`,

  'tenants with plans, and the keys of each fairly among themselves': `
    import { fairMiddleware } from '@fairlead/express'
    declare const shops: { weightOf(shop: string): number }
    export const fair = fairMiddleware({
      flow: (req) => [req.get('x-shop') ?? 'none', req.get('x-key') ?? 'none'],
      weightOf: (shop) => shops.weightOf(shop),
      cost: (req) => (req.path.startsWith('/export') ? 20 : 1),
    })`,

  'waiting, for a limit that is learned': `
    import { adaptive, fairMiddleware, requestQueue } from '@fairlead/express'
    export const fair = fairMiddleware({ queue: requestQueue({ concurrency: adaptive(), maxWaitMs: 1_500 }) })`,

  // A fleet's budget is an object with a life cycle: when closed, it returns its credit.
  'a budget that is shared and lent, on Redis': `
    import { budgetStage, LeasedFairEscrow } from '@fairlead/core/escrow'
    import { escrow, fairMiddleware } from '@fairlead/express'
    import { RedisPoolStore, type RedisClient } from '@fairlead/redis'
    declare const client: RedisClient
    const budget = new LeasedFairEscrow({
      pool: 'api', limit: 6_000, windowMs: 60_000, quantum: 20, store: new RedisPoolStore({ client }),
    })
    export const alone = fairMiddleware({ budget: escrow({ limit: 6_000, windowMs: 60_000 }) })
    export const fleet = fairMiddleware({ budget: budgetStage(budget) })`,

  'a quota for each key': `
    import { fairMiddleware, quota } from '@fairlead/express'
    import type { Request } from 'express'
    declare function planOf(req: Request): { perMinute: number }
    export const fair = fairMiddleware({ quota: quota({ limit: (req) => planOf(req).perMinute, windowMs: 60_000, burst: 10 }) })`,

  'several processes with one clock': `
    import { fairMiddleware } from '@fairlead/express'
    import { redisFleet, type RedisClient } from '@fairlead/redis'
    declare const redis: RedisClient
    export const fair = fairMiddleware({ name: 'search', fleet: redisFleet(redis) })`,

  'one limit for a fleet, leased': `
    import { DoormanClient, overHttp } from '@fairlead/core/doorman'
    import { clientId } from '@fairlead/core/node'
    import { fairMiddleware, requestQueue } from '@fairlead/express'
    const doorman = new DoormanClient({ transport: overHttp({ url: 'https://doorman.internal:7012' }), id: clientId() })
    export const fair = fairMiddleware({ queue: requestQueue({ concurrency: doorman.gauge('search') }) })`,

  'two resources behind one application': `
    import { fairMiddleware } from '@fairlead/express'
    export const fair = fairMiddleware({ resource: (req) => (req.path.startsWith('/files') ? 'disk' : 'db') })`,

  'asynchronous work of any kind': `
    import { fairLimit } from '@fairlead/core/queue'
    declare const files: { read(name: string): Promise<string> }
    const limit = fairLimit({ concurrency: 4 })
    const { signal } = new AbortController()
    export const one: string = await limit(() => files.read('one'))
    export const two: string = await limit('tenant-3', () => files.read('two'), { cost: 2, signal, priority: 1 })`,

  'a cost that shows as the work goes on': `
    import type { Request } from 'express'
    import '@fairlead/express'
    declare const words: AsyncIterable<string>
    export async function stream(req: Request): Promise<void> {
      const { permit } = req.fair!
      for await (const _ of words) permit!.charge(1)
      permit!.finish('success')
    }`,

  'seen and measured': `
    import { fairConsole } from '@fairlead/console'
    import { fairMiddleware } from '@fairlead/express'
    import { instrumentGate } from '@fairlead/otel'
    import express from 'express'
    declare function isAdmin(request: Request): boolean
    const fair = fairMiddleware()
    express().use('/fairlead', fairConsole(fair.gate, { auth: isAdmin })).use(fair)
    instrumentGate(fair.gate)`,

  'no HTTP at all': `
    import { createGate } from '@fairlead/core'
    const gate = createGate({ name: 'mail', weightOf: (flow) => (flow === 'receipts' ? 3 : 1) })
    const decision = await gate.admit({ flow: 'newsletter' })
    if (decision.admitted) decision.finish('success')
    else console.log(decision.reason, decision.retryAfterMs)`,

  'Nest: the same options, and decorators': `
    import { Fair, FairModule, requestQueue, SkipFair } from '@fairlead/nest'
    import { Controller, type ExecutionContext, Get, Module } from '@nestjs/common'
    declare function tenantOf(context: ExecutionContext): string
    @Controller()
    class Reports {
      @Fair({ cost: 10 }) @Get('report') report(): string { return '' }
      @SkipFair() @Get('health') health(): string { return '' }
    }
    @Module({
      imports: [FairModule.forRoot({ flow: (context) => tenantOf(context), queue: requestQueue({ concurrency: 32 }) })],
      controllers: [Reports],
    })
    export class AppModule {}`,

  'a fetch handler': `
    import { fairFetch } from '@fairlead/core/fetch'
    const handler = (request: Request): Response => new Response(request.url)
    export default { fetch: fairFetch(handler, { flow: (request) => request.headers.get('x-tenant') }) }`,
}

describe('what users write', () => {
  it('compiles, each on its own', () => {
    const examples = Object.entries(PROGRAMS).map(([page, text], i): Example => {
      const source = text.split('\n').map((line) => ({ text: line, line: 1 }))
      return { page: page.replaceAll(/\W+/g, '-'), line: i + 1, source }
    })
    expect(compile(examples, 'surface').complaints).toEqual([])
  })
})
