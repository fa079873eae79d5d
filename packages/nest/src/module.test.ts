import type { RequestListener, Server } from 'node:http'
import { createGate, type Gate, type Outcome, ResourceExhaustedError, refuse } from '@fairlead/core'
import type { FairRequest } from '@fairlead/core/http'
import { fairHandler } from '@fairlead/core/node'
import { probeStage } from '@fairlead/core/testing'
import { eventually } from '@fairlead-testing/waiting'
import { Controller, type ExecutionContext, Get, Module, UseGuards, UseInterceptors } from '@nestjs/common'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ask, leave, statusOf } from './fixtures/client.js'
import { listen, platforms, type Running } from './fixtures/nest-harness.js'
import { FAIR_GATE, Fair, FairGuard, FairInterceptor, FairModule, FairPermit, InjectGate, SkipFair } from './index.js'

let running: Running | undefined
afterEach(async () => {
  await running?.close()
  running = undefined
})

const tenant = (context: ExecutionContext): string => context.getArgByIndex(0).headers['x-tenant']

@Fair({ cost: 5, flow: 'reports' })
class Base {
  @Get('inherited')
  @Fair({ priority: 1 })
  inherited(): string {
    return 'inherited'
  }
}

@Controller('reports')
@Fair({ cost: 5, flow: 'reports' })
class Reports extends Base {
  @Get()
  report(): string {
    return 'report'
  }

  @Get('big')
  @Fair({ cost: () => 50, priority: () => -1 })
  big(): string {
    return 'big'
  }

  @Get('backend')
  @Fair({ resource: 'reports-db' })
  backend(): string {
    return 'backend'
  }

  @Get('mine')
  @Fair({ flow: tenant, cost: () => undefined })
  mine(): string {
    return 'mine'
  }

  @Get('health')
  @SkipFair()
  health(): string {
    return 'fine'
  }
}

@Controller('heirs')
@Fair({ cost: 7 })
class Heirs extends Base {}

@Controller('health')
@SkipFair()
class Health {
  @Get()
  health(): string {
    return 'fine'
  }

  @Get('deep')
  @SkipFair(false)
  deep(): string {
    return 'fine'
  }
}

@Controller('shown')
class Shown {
  readonly gate: Gate

  constructor(@InjectGate() gate: Gate) {
    this.gate = gate
  }

  @Get()
  shown(@FairPermit() fair?: FairRequest): unknown {
    return { cost: fair?.permit?.cost, inFlight: this.gate.snapshot().inFlight }
  }

  @Get('skipped')
  @SkipFair()
  skipped(@FairPermit() fair?: FairRequest): unknown {
    return { fair: fair === undefined }
  }

  @Get('unhappy')
  unhappy(@FairPermit() fair: FairRequest): string {
    fair.failed(new ResourceExhaustedError())
    return 'so so'
  }
}

const controllers = [Reports, Heirs, Health, Shown]

describe.each(platforms)('FairModule on %s', (_, adapter) => {
  it.each<[path: string, flow: string | undefined, cost: number, priority: number]>([
    ['/reports', 'reports', 5, 0],
    ['/reports/big', 'reports', 50, -1],
    ['/reports/mine', 'tenant-7', 2, 0],
    ['/reports/inherited', 'reports', 5, 1],
    ['/heirs/inherited', 'by the option', 7, 1],
    ['/health/deep', 'by the option', 2, 0],
  ])('decorators of %s', async (path, flow, cost, priority) => {
    const probe = probeStage()
    const gate = createGate({ fair: false, stages: [probe] })
    const options = { gate, flow: () => 'by the option', cost: () => 2 }
    running = await listen({ imports: [FairModule.forRoot(options)], controllers }, adapter())
    await statusOf(running.port, '/heirs/inherited')
    await statusOf(running.port, '/reports/inherited')
    await statusOf(running.port, path, 'GET', { 'x-tenant': 'tenant-7' })
    expect(probe.passages[2]).toEqual({ flow, cost, priority, exempt: false })
  })

  it('a decorator names the resource, and the option where there is none', async () => {
    const probe = probeStage()
    const gate = createGate({ fair: false, stages: [probe] })
    const options = { gate, resource: () => 'the rest' }
    running = await listen({ imports: [FairModule.forRoot(options)], controllers }, adapter())
    for (const path of ['/reports/backend', '/reports/big']) await statusOf(running.port, path)
    expect(probe.passages.map(({ resource }) => resource)).toEqual(['reports-db', 'the rest'])
  })

  it.each(['/reports/health', '/health'])('%s is skipped', async (path) => {
    const probe = probeStage()
    const gate = createGate({ fair: false, stages: [probe] })
    running = await listen({ imports: [FairModule.forRoot({ gate })], controllers }, adapter())
    expect(await statusOf(running.port, path)).toBe(200)
    expect(probe.passages).toEqual([])
  })

  it('knows the gate of a fairHandler around it: the same judges once, another’s refusals are no failures of it', async () => {
    const [twice, outer] = [probeStage(), probeStage()]
    const gate = createGate({ fair: false, stages: [twice] })
    const full = createGate({ fair: false, stages: [{ name: 'full', admit: () => refuse('full', 'full', true, 0) }] })
    const onWarning = vi.fn()
    const status = async (inner: Gate, around: Gate): Promise<number> => {
      const imports = [FairModule.forRoot({ gate: inner, onWarning })]
      running = await listen({ imports, controllers }, adapter())
      const server: Server = running.app.getHttpServer()
      const [listener] = server.listeners('request') as [RequestListener]
      server.removeAllListeners('request').on('request', fairHandler(listener, { gate: around }))
      return statusOf(running.port, '/heirs/inherited')
    }
    expect(await status(gate, gate)).toBe(200)
    expect(twice.passages).toHaveLength(1)
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('the same gate twice'), undefined)
    await running?.close()
    expect(await status(full, createGate({ fair: false, stages: [outer] }))).toBe(503)
    await eventually(() => expect(outer.outcomes).toEqual(['ignored']))
  })

  it('shows handlers their permit, and providers the gate', async () => {
    const options = { fair: false, shed: false, cost: () => 3 } as const
    running = await listen({ imports: [FairModule.forRoot(options)], controllers }, adapter())
    const get = async (path: string): Promise<unknown> => {
      return (await fetch(`http://127.0.0.1:${running?.port}/shown${path}`)).json()
    }
    expect(await get('')).toEqual({ cost: 3, inFlight: 1 })
    expect(await get('/skipped')).toEqual({ fair: true })
    const gate: Gate = running.app.get(FAIR_GATE)
    await statusOf(running.port, '/shown/unhappy')
    await eventually(() => expect(gate.snapshot().finished).toEqual({ success: 1, failure: 1, ignored: 0 }))
  })

  it('makes options from other providers', async () => {
    const probe = probeStage()
    class Settings {
      readonly gate: Gate = createGate({ fair: false, stages: [probe] })
    }
    @Module({ providers: [Settings], exports: [Settings] })
    class SettingsModule {}
    const fair = FairModule.forRootAsync({
      at: 'guard',
      imports: [SettingsModule],
      inject: [Settings],
      useFactory: async ({ gate }: Settings) => ({ gate, flow: () => 'async' }),
    })
    running = await listen({ imports: [fair], controllers }, adapter())
    expect(await statusOf(running.port, '/shown')).toBe(200)
    expect(probe.passages).toMatchObject([{ flow: 'async' }])
  })

  it('bound nowhere, judges where it is bound by hand, in any module', async () => {
    const probe = probeStage()
    const gate = createGate({ fair: false, stages: [probe] })
    @Controller('bound')
    class Bound {
      @Get('interceptor')
      @UseInterceptors(FairInterceptor)
      intercepted(): string {
        return 'judged'
      }

      @Get('guard')
      @UseGuards(FairGuard)
      @UseInterceptors(FairInterceptor)
      guarded(): string {
        return 'judged'
      }

      @Get('not')
      not(): string {
        return 'not judged'
      }
    }
    @Module({ controllers: [Bound] })
    class Feature {}
    running = await listen({ imports: [Feature, FairModule.forRoot({ gate, at: 'nowhere' })] }, adapter())
    for (const path of ['not', 'interceptor', 'guard']) await statusOf(running.port, `/bound/${path}`)
    await eventually(() => expect(probe.outcomes).toEqual<Outcome[]>(['success', 'success']))
  })

  it('by the guard alone, ends permits with their responses, even if handlers still run, unless they are held', async () => {
    const probe = probeStage()
    const gate = createGate({ fair: false, stages: [probe] })
    const seen: FairRequest[] = []
    @Controller('alone')
    @UseGuards(FairGuard)
    class Alone {
      @Get()
      answered(): string {
        return 'judged'
      }

      @Get('pending')
      pending(@FairPermit() fair: FairRequest): Promise<never> {
        seen.push(fair)
        return new Promise(() => {})
      }
    }
    const fair = FairModule.forRoot({ gate, at: 'nowhere' })
    running = await listen({ imports: [fair], controllers: [Alone] }, adapter())
    expect(await statusOf(running.port, '/alone')).toBe(200)
    await eventually(() => expect(probe.outcomes).toEqual<Outcome[]>(['success']))
    const clients = [await ask(running.port, '/alone/pending'), await ask(running.port, '/alone/pending')]
    await eventually(() => expect(seen).toHaveLength(2))
    const done = seen[0]!.hold()
    for (const client of clients) await leave(client)
    await eventually(() => expect(seen.map(({ signal }) => signal.aborted)).toEqual([true, true]))
    expect(probe.outcomes).toEqual<Outcome[]>(['success', 'ignored'])
    done()
    expect(probe.outcomes).toEqual<Outcome[]>(['success', 'ignored', 'ignored'])
  })

  it('closes a gate that it made when the app closes, and no other', async () => {
    const gate = createGate({ fair: false })
    const other = await listen({ imports: [FairModule.forRoot({ gate })], controllers }, adapter())
    await other.close()
    expect(gate.snapshot().closed).toBe(false)
    const own = await listen({ imports: [FairModule.forRoot()], controllers }, adapter())
    const made: Gate = own.app.get(FAIR_GATE)
    expect(made.snapshot().closed).toBe(false)
    await own.close()
    expect(made.snapshot().closed).toBe(true)
  })

  it('gives each application a gate of its own', async () => {
    const fair = FairModule.forRoot()
    const [one, two] = [
      await listen({ imports: [fair], controllers }, adapter()),
      await listen({ imports: [fair], controllers }, adapter()),
    ]
    expect(one.app.get(FAIR_GATE)).not.toBe(two.app.get(FAIR_GATE))
    await Promise.all([one.close(), two.close()])
  })

  it('knows a client by its connection, and by proxies only if they are trusted', async () => {
    const probe = probeStage()
    const gate = createGate({ fair: false, stages: [probe] })
    const headers = { 'x-forwarded-for': '198.51.100.9' }
    const trusting =
      adapter() instanceof FastifyAdapter ? new FastifyAdapter({ trustProxy: '127.0.0.1' }) : new ExpressAdapter()
    if (trusting instanceof ExpressAdapter) trusting.set('trust proxy', 1)
    for (const platform of [adapter(), trusting]) {
      const app = await listen({ imports: [FairModule.forRoot({ gate })], controllers }, platform)
      await statusOf(app.port, '/shown', 'GET', headers)
      await app.close()
    }
    expect(probe.passages.map(({ flow }) => flow)).toEqual(['ip:127.0.0.1', 'ip:198.51.100.9'])
  })

  it('passes by what has no response of Node, and says so once', async () => {
    const onWarning = vi.fn()
    const gate = createGate({ fair: false })
    const options = { gate, onWarning, exchange: () => undefined }
    running = await listen({ imports: [FairModule.forRoot(options)], controllers }, adapter())
    expect(await statusOf(running.port, '/shown')).toBe(200)
    expect(await statusOf(running.port, '/shown')).toBe(200)
    expect(gate.snapshot().admitted).toBe(0)
    expect(onWarning).toHaveBeenCalledOnce()
  })
})
