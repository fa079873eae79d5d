import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createGate, type Gate, refuse, type Stage, type Verdict } from '@fairlead/core'
import { limitStage, probeStage } from '@fairlead/core/testing'
import { eventually } from '@fairlead-testing/waiting'
import {
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpException,
  type NestInterceptor,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common'
import { defaultIfEmpty, type Observable, Subject, takeUntil } from 'rxjs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ask, leave } from './fixtures/client.js'
import { listen, platforms, type Running } from './fixtures/nest-harness.js'
import { type At, FairException, FairInterceptor, FairModule, type FairModuleOptions } from './index.js'

const busy: Stage = { name: 'busy', admit: () => refuse('busy', 'overload', true, 1_000) }

@Catch(FairException)
class Fair implements ExceptionFilter<FairException> {
  catch({ refusal, message }: FairException, host: ArgumentsHost): void {
    host.getArgByIndex(1).status(refusal.status).send(`${message}, ${refusal.refusal.stage}`)
  }
}

const handled = vi.fn(() => 'hello')
let pass = (): void => {}
let arrived = (_gone: Promise<unknown>): void => {}

class Slow implements CanActivate {
  canActivate(context: ExecutionContext): Promise<boolean> {
    arrived(once(context.getArgByIndex(0).socket, 'close'))
    return new Promise((resolve) => {
      pass = () => resolve(true)
    })
  }
}

const giveUp = new Subject<void>()

class GivesUp implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(takeUntil(giveUp), defaultIfEmpty('gave up'))
  }
}

@Controller()
class App {
  @Get()
  hello(): string {
    return handled()
  }

  @Get('filtered')
  @UseFilters(new Fair())
  filtered(): string {
    return handled()
  }

  @Get('given-up')
  @UseInterceptors(new GivesUp(), FairInterceptor)
  givenUp(): string {
    return handled()
  }

  @Get('slow')
  @UseGuards(new Slow())
  slow(): string {
    return handled()
  }
}

let running: Running | undefined
afterEach(async () => {
  await running?.close()
  running = undefined
  handled.mockClear()
})

/** A gate with only these stages. */
function gateOf(...stages: Stage[]): Gate {
  return createGate({ fair: false, stages })
}

describe.each(platforms)('refusals on %s', (_, adapter) => {
  const start = async (options: FairModuleOptions): Promise<number> => {
    running = await listen({ imports: [FairModule.forRoot(options)], controllers: [App] }, adapter())
    return running.port
  }
  const get = (port: number, path = '/'): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`)

  it.each<At>(['interceptor', 'guard'])('are exceptions that filters can catch, at the %s', async (at) => {
    const response = await get(await start({ gate: gateOf(busy), at }), '/filtered')
    expect(response.status).toBe(503)
    expect(await response.text()).toBe('refused by busy: overload, busy')
    expect(response.headers.get('retry-after')).toMatch(/^[12]$/)
    expect(handled).not.toHaveBeenCalled()
  })

  it.each<[string, (() => unknown) | undefined, unknown]>([
    ['an object that the handler returns', () => ({ error: 'busy' }), { error: 'busy' }],
    ['one that it promises', async () => ({ error: 'busy' }), { error: 'busy' }],
    ['a text, as Nest shows those', () => 'busy', { statusCode: 503, message: 'busy' }],
  ])('are answered with %s', async (_name, handler, body) => {
    const response = await get(await start({ gate: gateOf(busy), handler: () => handler?.() }))
    expect(response.status).toBe(503)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(response.headers.get('retry-after')).toMatch(/^[12]$/)
    expect(await response.json()).toEqual(body)
  })

  it('are answered by what the handler writes', async () => {
    const handler = (context: ExecutionContext): void => context.getArgByIndex(1).send('busy')
    const response = await get(await start({ gate: gateOf(busy), handler }))
    expect([response.status, await response.text()]).toEqual([503, 'busy'])
  })

  it('are answered by an HttpException that the handler throws', async () => {
    const handler = (): never => {
      throw new HttpException({ error: 'gone for lunch' }, 420)
    }
    const response = await get(await start({ gate: gateOf(busy), handler }))
    expect([response.status, await response.json()]).toEqual([420, { error: 'gone for lunch' }])
  })

  it.each<[string, () => unknown]>([
    [
      'throws anything else',
      () => {
        throw new Error('no words')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no words'))],
    ['gives nothing', () => undefined],
    ['gives a number', () => 5],
  ])('are answered with the problem document if the handler %s', async (name, handler) => {
    const onWarning = vi.fn()
    const response = await get(await start({ gate: gateOf(busy), handler, onWarning }))
    expect(response.status).toBe(503)
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(await response.json()).toMatchObject({ 'violated-policies': ['busy'] })
    expect(onWarning).toHaveBeenCalledTimes(name.startsWith('gives') ? 0 : 1)
  })

  it.each<At>(['interceptor', 'guard'])('leave an answer alone that a timeout has begun, at the %s', async (at) => {
    let answer = (_verdict: Verdict): void => {}
    const admit = (): Promise<Verdict> =>
      new Promise((resolve) => {
        answer = resolve
      })
    const gate = gateOf({ name: 'late', admit })
    const handler = vi.fn()
    let response: ServerResponse | undefined
    const flow = (context: ExecutionContext): string => {
      const reply: ServerResponse & { raw?: ServerResponse } = context.getArgByIndex(1)
      response = reply.raw ?? reply
      return 'a'
    }
    const port = await start({ gate, at, handler, flow })
    const client = await ask(port, '/')
    let received = ''
    client.on('data', (chunk) => {
      received += chunk
    })
    await eventually(() => expect(gate.snapshot().waiting).toBe(1))
    response?.writeHead(408)
    response?.write('too ')
    answer(refuse('late', 'overload', true, 0))
    await eventually(() => expect(gate.snapshot().waiting).toBe(0))
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    response?.end('late')
    await eventually(() => expect(received).toContain('late'))
    expect(received).toContain('408')
    expect(handler).not.toHaveBeenCalled()
    await leave(client)
  })

  it.each<At>(['interceptor', 'guard'])('come too late for clients that left during guards, at the %s', async (at) => {
    const probe = probeStage()
    const gate = gateOf(probe)
    const port = await start({ gate, at })
    const arrival = new Promise<{ gone: Promise<unknown> }>((resolve) => {
      arrived = (gone) => resolve({ gone })
    })
    const client = await ask(port, '/slow')
    const { gone } = await arrival
    await leave(client)
    await gone
    expect(probe.outcomes).toEqual(at === 'guard' ? ['ignored'] : [])
    pass()
    await eventually(() =>
      expect(gate.snapshot()).toMatchObject(at === 'guard' ? { inFlight: 0 } : { refusedBy: { 'gate:gone': 1 } }),
    )
    expect(handled).not.toHaveBeenCalled()
  })

  it('an outer interceptor that gives up on a request takes it out of the line', async () => {
    const gate = gateOf(limitStage(1, { waiters: 5 }))
    const first = gate.admit({ flow: 'first' })
    const port = await start({ gate, at: 'nowhere' })
    const answer = get(port, '/given-up')
    await eventually(() => expect(gate.snapshot().waiting).toBe(1))
    giveUp.next()
    await answer
    expect(gate.snapshot()).toMatchObject({ waiting: 0, refusedBy: { 'gate:gone': 1 } })
    if (!(first instanceof Promise) && first.admitted) first.finish('success')
    await new Promise((resolve) => setImmediate(resolve))
    expect(gate.snapshot()).toMatchObject({ admitted: 1, inFlight: 0 })
    expect(handled).not.toHaveBeenCalled()
  })
})
