import { once } from 'node:events'
import { connect } from 'node:net'
import { createGate, type Gate, refuse, type Stage } from '@fairlead/core'
import { limitStage, probeStage } from '@fairlead/core/testing'
import { eventually } from '@fairlead-testing/waiting'
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import { Module } from '@nestjs/common'
import { Args, GqlExecutionContext, GraphQLModule, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql'
import { ExpressAdapter } from '@nestjs/platform-express'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { leave } from './fixtures/client.js'
import { listen, type Running } from './fixtures/nest-harness.js'
import {
  type At,
  Fair,
  FairModule,
  type FairModuleOptions,
  FairPermit,
  type FairRequest,
  ResourceExhaustedError,
} from './index.js'

const typeDefs = `
  type Item { id: Int!, price: Int! }
  type Query { item(id: Int!): Item, items: [Item!]!, wait: String, exhausted: String, bug: String }
`
const busy: Stage = { name: 'busy', admit: () => refuse('busy', 'overload', true, 1_000) }

let signal: AbortSignal | undefined
let finish = (): void => {}
const handled = vi.fn()

@Resolver('Item')
class Items {
  @Query('item')
  @Fair({ cost: 2 })
  item(@Args('id') id: number, @FairPermit() fair?: FairRequest): { id: number } {
    handled(fair?.permit?.cost)
    return { id }
  }

  @Query('items')
  items(): { id: number }[] {
    return Array.from({ length: 20 }, (_, id) => ({ id }))
  }

  @ResolveField('price')
  price(@Parent() { id }: { id: number }): number {
    return id * 10
  }

  @Query('wait')
  wait(@FairPermit() fair?: FairRequest): Promise<string> {
    signal = fair?.signal
    return new Promise((resolve) => {
      finish = () => resolve('waited')
    })
  }

  @Query('exhausted')
  exhausted(): never {
    throw new ResourceExhaustedError()
  }

  @Query('bug')
  bug(): never {
    throw new Error('a bug')
  }
}

let running: Running | undefined
const warnings: Error[] = []
const onWarning = (warning: Error): void => void warnings.push(warning)
process.on('warning', onWarning)
afterEach(async () => {
  await running?.close()
  running = undefined
  signal = undefined
  handled.mockClear()
})

describe('GraphQL', () => {
  async function start(options: FairModuleOptions, config: Partial<ApolloDriverConfig> = {}): Promise<number> {
    @Module({ providers: [Items] })
    class Resolvers {}
    const graphql = GraphQLModule.forRoot<ApolloDriverConfig>({ driver: ApolloDriver, typeDefs, ...config })
    running = await listen({ imports: [FairModule.forRoot(options), graphql, Resolvers] }, new ExpressAdapter())
    return running.port
  }

  async function query(port: number, query: string): Promise<Record<string, unknown>> {
    const headers = { 'content-type': 'application/json', 'x-tenant': 'tenant-7' }
    const body = JSON.stringify({ query })
    const response = await fetch(`http://127.0.0.1:${port}/graphql`, { method: 'POST', headers, body })
    return (await response.json()) as Record<string, unknown>
  }

  function gateOf(...stages: Stage[]): Gate {
    return createGate({ fair: false, stages })
  }

  it.each<At>(['interceptor', 'guard'])(
    'each root field is admitted, and ends with its resolver, at the %s',
    async (at) => {
      const probe = probeStage()
      const port = await start({ gate: gateOf(probe), at })
      const { data } = await query(port, '{ a: item(id: 1) { id price } b: item(id: 2) { id } }')
      expect(data).toEqual({ a: { id: 1, price: 10 }, b: { id: 2 } })
      const passage = { flow: 'ip:127.0.0.1', cost: 2, priority: 0, exempt: false }
      expect(probe.passages).toEqual([passage, passage])
      expect(probe.outcomes).toEqual(['success', 'success'])
      expect(handled.mock.calls).toEqual([[2], [2]])
    },
  )

  it('flow is named from the context of the operation', async () => {
    const probe = probeStage()
    const flow: FairModuleOptions['flow'] = (context) =>
      GqlExecutionContext.create(context).getContext<{ req: { headers: Record<string, string> } }>().req.headers[
        'x-tenant'
      ]
    await query(await start({ gate: gateOf(probe), flow }), '{ items { id } }')
    expect(probe.passages).toMatchObject([{ flow: 'tenant-7' }])
  })

  it('errors are outcomes, though the answer is 200', async () => {
    const probe = probeStage()
    const port = await start({ gate: gateOf(probe) })
    await query(port, '{ exhausted }')
    await query(port, '{ bug }')
    expect(probe.outcomes).toEqual(['failure', 'ignored'])
  })

  it('refused fields are errors that carry the refusal', async () => {
    const port = await start({ gate: gateOf(busy) })
    const { errors } = await query(port, '{ item(id: 1) { id } }')
    const extensions = { code: 'SERVICE_UNAVAILABLE', status: 503, stage: 'busy', reason: 'overload' }
    expect(errors).toMatchObject([{ message: 'refused by busy: overload', path: ['item'], extensions }])
    expect(handled).not.toHaveBeenCalled()
  })

  it('fields of one operation take turns where only one may run', async () => {
    const gate = gateOf(limitStage(1, { waiters: 30 }))
    const port = await start({ gate })
    const { data } = await query(port, '{ a: item(id: 1) { id } b: item(id: 2) { id } c: item(id: 3) { id } }')
    expect(data).toEqual({ a: { id: 1 }, b: { id: 2 }, c: { id: 3 } })
  })

  it('fields of many items leave one listener on the response', async () => {
    const probe = probeStage()
    const port = await start({ gate: gateOf(probe) }, { fieldResolverEnhancers: ['interceptors'] })
    const { data } = await query(port, '{ items { id price } }')
    expect((data as { items: unknown[] }).items).toHaveLength(20)
    expect(probe.outcomes).toHaveLength(21)
    expect(warnings).toEqual([])
  })

  it('a client that leaves fires the signals of running fields, and takes waiting ones out of the line', async () => {
    const gate = gateOf(limitStage(1, { waiters: 5 }))
    const port = await start({ gate })
    const client = connect(port, '127.0.0.1')
    await once(client, 'connect')
    const body = JSON.stringify({ query: '{ wait item(id: 1) { id } }' })
    client.write(
      'POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n' +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    )
    await eventually(() => expect(gate.snapshot()).toMatchObject({ inFlight: 1, waiting: 1 }))
    await eventually(() => expect(signal).toBeDefined())
    await leave(client)
    await eventually(() => expect(gate.snapshot()).toMatchObject({ waiting: 0, refusedBy: { 'gate:gone': 1 } }))
    expect(signal?.aborted).toBe(true)
    expect(gate.snapshot().inFlight).toBe(1)
    finish()
    await eventually(() => expect(gate.snapshot()).toMatchObject({ inFlight: 0, finished: { ignored: 1 } }))
    expect(handled).not.toHaveBeenCalled()
  })
})
