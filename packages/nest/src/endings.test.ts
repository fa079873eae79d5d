import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { createGate, type Outcome, ResourceExhaustedError } from '@fairlead/core'
import { probeStage } from '@fairlead/core/testing'
import { eventually } from '@fairlead-testing/waiting'
import {
  type ArgumentsHost,
  Body,
  type CallHandler,
  type CanActivate,
  Catch,
  ConflictException,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpException,
  type NestInterceptor,
  Param,
  ParseIntPipe,
  Post,
  Redirect,
  Res,
  ServiceUnavailableException,
  Sse,
  StreamableFile,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common'
import { concat, NEVER, Observable, of } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { ask, leave, statusOf } from './fixtures/client.js'
import { listen, platforms, type Running } from './fixtures/nest-harness.js'
import { type At, FairModule } from './index.js'

interface Reply {
  status(code: number): Reply
  send(body: unknown): unknown
  readonly raw?: Raw
}

interface Raw {
  write(text: string): unknown
  end(text?: string): unknown
}

@Catch()
class Translates implements ExceptionFilter {
  catch(_error: unknown, host: ArgumentsHost): void {
    host
      .getArgByIndex<Reply>(1)
      .status(host.getArgByIndex(0).url.includes('as-503') ? 503 : 409)
      .send('translated')
  }
}

class Refuses implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { url } = context.getArgByIndex<{ url: string }>(0)
    if (url.includes('short')) throw new ServiceUnavailableException()
    return false
  }
}

class Throws implements NestInterceptor {
  intercept(_context: ExecutionContext, _next: CallHandler): never {
    throw new HttpException('too many', 429)
  }
}

let finish = (): void => {}
let unsubscribed = 0

@Controller()
class App {
  @Get('ok')
  ok(): string {
    return 'ok'
  }

  @Post('ok')
  create(@Body() body: unknown): unknown {
    return body
  }

  @Get('moved')
  @Redirect('/ok')
  moved(): void {}

  @Get('passthrough')
  passthrough(@Res({ passthrough: true }) res: Reply): string {
    res.status(202)
    return 'accepted'
  }

  @Get('short')
  short(@Res({ passthrough: true }) res: Reply): string {
    res.status(503)
    return 'short'
  }

  @Get('number/:id')
  number(@Param('id', ParseIntPipe) id: number): number {
    return id
  }

  @Get('teapot')
  teapot(): never {
    throw new HttpException('teapot', 418)
  }

  @Get('exhausted')
  exhausted(): never {
    throw new ResourceExhaustedError()
  }

  @Get('hidden')
  @UseFilters(new Translates())
  hidden(): never {
    throw new ResourceExhaustedError()
  }

  @Get('conflict-as-503')
  @UseFilters(new Translates())
  conflict(): never {
    throw new ConflictException()
  }

  @Get('bug-as-409')
  @UseFilters(new Translates())
  bug(): never {
    throw new Error('a bug')
  }

  @Get('observable')
  observable(): Observable<number> {
    return of(1, 2, 3)
  }

  @Get('observable-pending')
  pending(): Observable<number> {
    const open = new Observable<number>((subscriber) => {
      finish = () => subscriber.complete()
    })
    return concat(of(1), open)
  }

  @Get('manual')
  manual(@Res() res: Reply & Raw): void {
    const raw = res.raw ?? res
    raw.write('half')
    finish = () => raw.end('whole')
  }

  @Get('file')
  file(): StreamableFile {
    return new StreamableFile(Readable.from([Buffer.from('a file')]))
  }

  @Get('no-file')
  noFile(): StreamableFile {
    return new StreamableFile(createReadStream('/nowhere/nothing'))
  }

  @Sse('events')
  events(): Observable<{ data: string }> {
    return concat(of({ data: 'first' }), NEVER).pipe(
      (source) =>
        new Observable((subscriber) => {
          const subscription = source.subscribe(subscriber)
          return () => {
            unsubscribed++
            subscription.unsubscribe()
          }
        }),
    )
  }

  @Get('guarded')
  @UseGuards(new Refuses())
  guarded(): string {
    return 'never'
  }

  @Get('guarded-short')
  @UseGuards(new Refuses())
  guardedShort(): string {
    return 'never'
  }

  @Get('intercepted')
  @UseInterceptors(new Throws())
  intercepted(): string {
    return 'never'
  }
}

let running: Running | undefined
afterEach(async () => {
  await running?.close()
  running = undefined
})

describe.each(platforms)('on %s', (_, adapter) => {
  const start = async (at: At = 'interceptor') => {
    const probe = probeStage()
    const gate = createGate({ fair: false, stages: [probe] })
    running = await listen({ imports: [FairModule.forRoot({ gate, at })], controllers: [App] }, adapter())
    return { probe, gate, port: running.port }
  }

  describe.each<At>(['interceptor', 'guard'])('at the %s', (at) => {
    it.each<[path: string, method: string, status: number, outcome: Outcome]>([
      ['/ok', 'GET', 200, 'success'],
      ['/ok', 'POST', 201, 'success'],
      ['/ok', 'HEAD', 200, 'success'],
      ['/moved', 'GET', 302, 'success'],
      ['/passthrough', 'GET', 202, 'success'],
      ['/short', 'GET', 503, 'failure'],
      ['/number/x', 'GET', 400, 'success'],
      ['/teapot', 'GET', 418, 'success'],
      ['/exhausted', 'GET', 503, 'failure'],
      ['/hidden', 'GET', 409, 'failure'],
      ['/conflict-as-503', 'GET', 503, 'failure'],
      ['/bug-as-409', 'GET', 409, 'success'],
      ['/observable', 'GET', 200, 'success'],
      ['/file', 'GET', 200, 'success'],
      ['/intercepted', 'GET', 429, 'failure'],
    ])('%s by %s is answered %i: %s', async (path, method, status, outcome) => {
      const { port, probe } = await start(at)
      expect(await statusOf(port, path, method)).toBe(status)
      await eventually(() => expect(probe.outcomes).toEqual([outcome]))
    })

    it('a file that cannot be read gives its permit back', async () => {
      const { port, gate } = await start(at)
      await statusOf(port, '/no-file')
      await eventually(() => expect(gate.snapshot()).toMatchObject({ admitted: 1, inFlight: 0 }))
    })

    it.each(['/manual', '/observable-pending'])('%s is held until its end', async (path) => {
      const { port, gate, probe } = await start(at)
      finish = () => {}
      const before = finish
      const status = statusOf(port, path)
      await eventually(() => expect(finish).not.toBe(before))
      await new Promise((resolve) => setImmediate(resolve))
      expect(gate.snapshot().inFlight).toBe(1)
      finish()
      expect(await status).toBe(200)
      await eventually(() => expect(probe.outcomes).toEqual(['success']))
    })

    it('events are held while they are listened to, and their producer is told when the listener leaves', async () => {
      const { port, gate, probe } = await start(at)
      const before = unsubscribed
      const client = await ask(port, '/events')
      let received = ''
      client.on('data', (chunk) => {
        received += chunk
      })
      await eventually(() => expect(received).toContain('first'))
      expect(gate.snapshot().inFlight).toBe(1)
      await leave(client)
      await eventually(() => expect(probe.outcomes).toEqual(['ignored']))
      expect(unsubscribed).toBe(before + 1)
    })

    it.each([
      ['an unknown route', '/unknown', 'GET', {}, undefined],
      ['a body that is no JSON', '/ok', 'POST', { 'content-type': 'application/json' }, '{'],
    ])('%s is not seen', async (_name, path, method, headers, body) => {
      const { port, probe } = await start(at)
      expect(await statusOf(port, path, method, headers, body)).toBeGreaterThanOrEqual(400)
      expect(probe.passages).toEqual([])
    })
  })

  it.each(['/guarded', '/guarded-short'])(
    'at the interceptor, what the guard of %s refuses is not seen',
    async (path) => {
      const { port, probe } = await start('interceptor')
      expect(await statusOf(port, path)).toBeGreaterThanOrEqual(400)
      expect(probe.passages).toEqual([])
    },
  )

  it.each<[string, number, Outcome]>([
    ['/guarded', 403, 'success'],
    ['/guarded-short', 503, 'failure'],
  ])('at the guard, %s is answered %i by a later guard: %s', async (path, status, outcome) => {
    const { port, probe } = await start('guard')
    expect(await statusOf(port, path)).toBe(status)
    await eventually(() => expect(probe.outcomes).toEqual([outcome]))
  })
})
