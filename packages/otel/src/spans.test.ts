import { createGate, type Permit } from '@fairlead/core'
import { requestQueue } from '@fairlead/core/mechanisms'
import { manualClock } from '@fairlead/core/testing'
import { context, createContextKey, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { instrumentGate } from './instrument-gate.js'

const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const tracer = provider.getTracer('test')
beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
afterAll(() => context.disable())
beforeEach(() => exporter.reset())

/** Runs a request's work within a span of its own, and returns the span's attributes. */
async function requestOf(work: () => unknown): Promise<Record<string, unknown>> {
  const span = tracer.startSpan('GET /')
  await context.with(trace.setSpan(context.active(), span), work)
  span.end()
  return exporter.getFinishedSpans().at(-1)!.attributes
}

it('an admitted request says so on its span, and how long it waited', async () => {
  const clock = manualClock()
  const gate = createGate({ clock, queue: requestQueue({ concurrency: 1 }) })
  instrumentGate(gate, { name: 'api' })
  const first = gate.admit({ flow: 'a' }) as Permit
  const waiting = requestOf(() => gate.admit({ flow: 'b' }))
  clock.advance(40)
  first.finish('success')
  expect(await waiting).toEqual({ 'fairlead.gate': 'api', 'fairlead.result': 'admitted', 'fairlead.waited_ms': 40 })
})

it('a refused one says by which stage, why, and the numbers that decided', async () => {
  const clock = manualClock()
  const gate = createGate({ clock })
  instrumentGate(gate, { flowOf: (flow) => `hash of ${flow}` })
  let spare = 10
  let attributes: Record<string, unknown> = {}
  for (let i = 0; i < 6_000 && attributes['fairlead.reason'] !== 'unfair'; i++) {
    clock.advance(10 / 3)
    spare = Math.min(10, spare + 1 / 3)
    attributes = await requestOf(() => {
      const decision = gate.admit({ flow: `flow-${i % 10}` }) as Permit
      if (!decision.admitted) return
      const isServed = spare >= 1
      if (isServed) spare--
      decision.finish(isServed ? 'success' : 'failure')
    })
  }
  expect(attributes).toEqual({
    'fairlead.gate': 'gate',
    'fairlead.result': 'refused',
    'fairlead.stage': 'fair',
    'fairlead.reason': 'unfair',
    'fairlead.credit': expect.any(Number),
    'fairlead.fair_rate': expect.any(Number),
    'fairlead.flow': expect.stringMatching(/^hash of flow-/),
  })
})

it('a flowOf that throws costs the span nothing but the flow, and is counted', async () => {
  const gate = createGate()
  const flowOf = () => {
    throw new Error('no such tenant')
  }
  instrumentGate(gate, { flowOf })
  const attributes = await requestOf(() => gate.admit({ flow: 'a' }))
  expect(attributes).toEqual({ 'fairlead.gate': 'gate', 'fairlead.result': 'admitted', 'fairlead.waited_ms': 0 })
  expect(gate.snapshot().listenerErrors).toBe(1)
})

it("it is the server's span that hears it, not that of a middleware", async () => {
  const gate = createGate()
  instrumentGate(gate)
  const server = tracer.startSpan('server')
  const key = createContextKey('OpenTelemetry SDK Context Key RPC_METADATA')
  const within = context.active().setValue(key, { type: 'http', span: server })
  const middleware = await context.with(within, () => requestOf(() => gate.admit({ flow: 'a' })))
  server.end()
  expect(middleware).toEqual({})
  expect(exporter.getFinishedSpans().at(-1)!.attributes).toMatchObject({ 'fairlead.result': 'admitted' })
})

it('spans: false leaves spans alone, and so does a gate that is measured no more', async () => {
  const [silent, stopped] = [createGate(), createGate()]
  instrumentGate(silent, { spans: false })
  instrumentGate(stopped)()
  expect(await requestOf(() => silent.admit({ flow: 'a' }))).toEqual({})
  expect(await requestOf(() => stopped.admit({ flow: 'a' }))).toEqual({})
})
