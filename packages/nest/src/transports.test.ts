import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createGate, type Gate, refuse, type Stage } from '@fairlead/core'
import { limitStage, probeStage } from '@fairlead/core/testing'
import { eventually } from '@fairlead-testing/waiting'
import { Controller, type INestApplication, Module, UseInterceptors } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type ClientProxy,
  ClientProxyFactory,
  MessagePattern,
  Payload,
  RpcException,
  Transport,
} from '@nestjs/microservices'
import { ExpressAdapter } from '@nestjs/platform-express'
import { WsAdapter } from '@nestjs/platform-ws'
import { MessageBody, SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets'
import { EMPTY, firstValueFrom, lastValueFrom, NEVER, of, toArray } from 'rxjs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import {
  type At,
  Fair,
  FairInterceptor,
  FairModule,
  type FairModuleOptions,
  FairPermit,
  type FairRequest,
  ResourceExhaustedError,
} from './index.js'

const busy: Stage = { name: 'busy', admit: () => refuse('busy', 'overload', true, 1_000) }
const refused = { status: 'error', message: 'The service is short of capacity', code: 503, stage: 'busy' }

const handled = vi.fn()
let signal: AbortSignal | undefined
let finish = (): void => {}

/** The work of every transport's handlers. */
function act(what: unknown, fair: FairRequest | undefined): unknown {
  handled(fair?.permit?.cost)
  switch (what) {
    case 'exhausted':
      throw new ResourceExhaustedError()
    case 'bug':
      throw new Error('a bug')
    case 'many':
      return of(1, 2, 3)
    case 'nothing':
      return EMPTY
    case 'never':
      signal = fair?.signal
      return NEVER
    case 'wait':
      return new Promise((resolve) => {
        finish = () => resolve('waited')
      })
    default:
      return 'done'
  }
}

const ENDINGS = [
  ['send', 'success'],
  ['many', 'success'],
  ['exhausted', 'failure'],
  ['bug', 'ignored'],
] as const

const closers: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  handled.mockClear()
})

function gateOf(...stages: Stage[]): Gate {
  return createGate({ fair: false, stages })
}

describe('RPC over TCP', () => {
  @Controller()
  class Service {
    @MessagePattern('act')
    @Fair({ cost: 4 })
    act(@Payload() { what }: { what: string }, @FairPermit() fair?: FairRequest): unknown {
      return act(what, fair)
    }
  }

  async function start(options: FairModuleOptions, at: At = 'interceptor'): Promise<ClientProxy> {
    @Module({ imports: [FairModule.forRoot({ ...options, at })], controllers: [Service] })
    class App {}
    const port = await freePort()
    const app = await NestFactory.createMicroservice(App, {
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port },
      logger: false,
    })
    await app.listen()
    return connectTo(port, () => app.close())
  }

  function connectTo(port: number, close: () => Promise<unknown>): ClientProxy {
    const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } })
    closers.push(close, () => client.close())
    return client
  }

  it.each<At>(['interceptor', 'guard'])('the handler’s end is the outcome, at the %s', async (at) => {
    for (const [what, outcome] of ENDINGS) {
      const probe = probeStage()
      const client = await start({ gate: gateOf(probe) }, at)
      await firstValueFrom(client.send('act', { what }).pipe(toArray())).catch(() => {})
      await eventually(() => expect(probe.outcomes).toEqual([outcome]))
      expect(probe.passages).toMatchObject([{ flow: 'ip:127.0.0.1', cost: 4 }])
    }
    expect(handled).toHaveBeenCalledWith(4)
  })

  it('is held while the handler runs', async () => {
    const gate = gateOf(limitStage(1, { waiters: 1 }))
    const client = await start({ gate })
    const [first, second] = [1, 2].map(() => lastValueFrom(client.send('act', { what: 'wait' })))
    await eventually(() => expect(gate.snapshot()).toMatchObject({ inFlight: 1, waiting: 1 }))
    const before = finish
    finish()
    expect(await first).toBe('waited')
    await eventually(() => expect(finish).not.toBe(before))
    finish()
    expect(await second).toBe('waited')
    expect(gate.snapshot()).toMatchObject({ inFlight: 0, finished: { success: 2 } })
  })

  it.each<At>(['interceptor', 'guard'])('a refusal reaches the client in words of its own, at the %s', async (at) => {
    const client = await start({ gate: gateOf(busy) }, at)
    await expect(lastValueFrom(client.send('act', {}))).rejects.toMatchObject(refused)
    expect(handled).not.toHaveBeenCalled()
  })

  it('a refusal is what the handler option returns or throws', async () => {
    const returned = await start({ gate: gateOf(busy), handler: () => 'come back later' })
    await expect(lastValueFrom(returned.send('act', {}))).rejects.toMatchObject({ message: 'come back later' })
    const handler = (): never => {
      throw new RpcException({ code: 'BUSY' })
    }
    const thrown = await start({ gate: gateOf(busy), handler })
    await expect(lastValueFrom(thrown.send('act', {}))).rejects.toMatchObject({ code: 'BUSY' })
  })

  it.each([true, false])('in a hybrid application, with inheritAppConfig: %j', async (inheritAppConfig) => {
    const probe = probeStage()
    @Module({ imports: [FairModule.forRoot({ gate: gateOf(probe) })], controllers: [Service] })
    class App {}
    const app = await NestFactory.create(App, new ExpressAdapter(), { logger: false })
    const port = await freePort()
    const options = { host: '127.0.0.1', port }
    app.connectMicroservice({ transport: Transport.TCP, options }, { inheritAppConfig })
    await app.startAllMicroservices()
    const client = connectTo(port, () => app.close())
    expect(await lastValueFrom(client.send('act', {}))).toBe('done')
    expect(probe.outcomes).toEqual(inheritAppConfig ? ['success'] : [])
  })
})

/** Nest 10 treats port 0 as none, and listens on 3000. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

describe('WebSockets', () => {
  // Before Nest 12 no global interceptor reaches a gateway.
  const isReached = (process.env['FAIRLEAD_NEST'] ?? '12') === '12'
  const boundWhereGlobalIsNot = isReached ? () => {} : UseInterceptors(FairInterceptor)

  @WebSocketGateway()
  @boundWhereGlobalIsNot
  class Gateway {
    @SubscribeMessage('act')
    act(@MessageBody() { what }: { what: string }, @FairPermit() fair?: FairRequest): unknown {
      return act(what, fair)
    }
  }

  async function start(options: FairModuleOptions): Promise<WebSocket> {
    @Module({ imports: [FairModule.forRoot(options)], providers: [Gateway] })
    class App {}
    const app: INestApplication = await NestFactory.create(App, new ExpressAdapter(), { logger: false })
    app.useWebSocketAdapter(new WsAdapter(app))
    await app.listen(0, '127.0.0.1')
    const { port } = app.getHttpServer().address() as AddressInfo
    const client = new WebSocket(`ws://127.0.0.1:${port}`)
    closers.push(
      () => app.close(),
      () => client.terminate(),
    )
    await once(client, 'open')
    return client
  }

  function say(client: WebSocket, what: string): void {
    client.send(JSON.stringify({ event: 'act', data: { what } }))
  }

  async function answer(client: WebSocket, what: string): Promise<unknown> {
    const reply = once(client, 'message')
    say(client, what)
    return JSON.parse(String((await reply)[0]))
  }

  it('the handler’s end is the outcome', async () => {
    for (const [what, outcome] of ENDINGS) {
      const probe = probeStage()
      const client = await start({ gate: gateOf(probe), cost: () => 4 })
      say(client, what)
      await eventually(() => expect(probe.outcomes).toEqual([outcome]))
      expect(probe.passages).toMatchObject([{ flow: 'ip:127.0.0.1', cost: 4 }])
    }
    expect(handled).toHaveBeenCalledWith(4)
  })

  it('a client that leaves fires the signal, and is ignored', async () => {
    const probe = probeStage()
    const client = await start({ gate: gateOf(probe) })
    say(client, 'never')
    await eventually(() => expect(probe.passages).toHaveLength(1))
    await eventually(() => expect(signal?.aborted).toBe(false))
    client.terminate()
    await eventually(() => expect(probe.outcomes).toEqual(['ignored']))
    expect(signal?.aborted).toBe(true)
  })

  it('a client that leaves while it waits leaves the line', async () => {
    const gate = gateOf(limitStage(1, { waiters: 5 }))
    const first = gate.admit({ flow: 'first' })
    const client = await start({ gate })
    say(client, 'send')
    await eventually(() => expect(gate.snapshot().waiting).toBe(1))
    client.terminate()
    await eventually(() => expect(gate.snapshot()).toMatchObject({ waiting: 0, refusedBy: { 'gate:gone': 1 } }))
    if (!(first instanceof Promise) && first.admitted) first.finish('success')
    expect(gate.snapshot()).toMatchObject({ admitted: 1, inFlight: 0 })
    expect(handled).not.toHaveBeenCalled()
  })

  // Before Nest 12 no exception reaches a client of ws: Nest emits it on the server's end of the socket.
  it.runIf(isReached)('a refusal reaches the client in words of its own', async () => {
    const client = await start({ gate: gateOf(busy) })
    expect(await answer(client, 'send')).toMatchObject({ event: 'exception', data: refused })
    expect(handled).not.toHaveBeenCalled()
  })

  it.runIf(isReached)('a refusal is what the handler option throws', async () => {
    const handler = (): never => {
      throw new WsException('not now')
    }
    const client = await start({ gate: gateOf(busy), handler })
    expect(await answer(client, 'send')).toMatchObject({ event: 'exception', data: { message: 'not now' } })
  })
})
