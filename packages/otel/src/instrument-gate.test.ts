import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGate, type Gate, type Permit } from '@fairlead/core'
import { INSTRUMENTS } from '@fairlead/core/telemetry'
import { busyGate } from '@fairlead-testing/gates'
import { type Meter, metrics } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics'
import { afterEach, describe, expect, it } from 'vitest'
import { instrumentGate } from './instrument-gate.js'

/** A million in `pnpm test:deep`. */
const FLOWS = Number(process.env['FAIRLEAD_FLOWS'] ?? 20_000)

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

function sdk(exporter: PushMetricExporter): { provider: MeterProvider; reader: PeriodicExportingMetricReader } {
  // The test triggers each export.
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 })
  const provider = new MeterProvider({ readers: [reader] })
  stops.push(() => provider.shutdown())
  return { provider, reader }
}

/** An SDK that keeps its exports in memory. */
function inMemory() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const { provider, reader } = sdk(exporter)
  const meter = provider.getMeter('test')
  const collect = async (): Promise<Map<string, MetricData>> => {
    exporter.reset()
    await reader.forceFlush()
    const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
    return new Map(all.map((metric) => [metric.descriptor.name, metric]))
  }
  return { meter, collect }
}

describe('a real SDK', () => {
  it('has every instrument with its unit, its kind and a description, in memory', async () => {
    const { meter, collect } = inMemory()
    const { gate, run } = busyGate()
    instrumentGate(gate, { meter, name: 'api' })
    await run()
    const collected = await collect()
    expect([...collected.keys()].sort()).toEqual(
      Object.values(INSTRUMENTS)
        .map(({ name }) => name)
        .sort(),
    )
    for (const { name, unit, description } of Object.values(INSTRUMENTS))
      expect(collected.get(name)!.descriptor).toMatchObject({ unit, description })
    const requests = collected.get('fairlead.requests')!
    expect(requests).toMatchObject({ isMonotonic: true })
    const served = [...requests.dataPoints].find(({ attributes }) => attributes['fairlead.outcome'] === 'success')
    expect(served).toMatchObject({ value: gate.snapshot().finished.success, attributes: { 'fairlead.gate': 'api' } })
    expect(served!.value).toBeGreaterThan(0)
    expect(collected.get('fairlead.fair.engaged')!.dataPoints).toMatchObject([{ value: 1 }])
  })

  it(`has at most 60 series of a gate that ${FLOWS} flows have asked`, { timeout: 600_000 }, async () => {
    const { meter, collect } = inMemory()
    const { gate, run } = busyGate(FLOWS)
    instrumentGate(gate, { meter })
    await run()
    const collected = await collect()
    const series = [...collected.values()].flatMap(({ dataPoints }): unknown[] => dataPoints)
    expect(series.length).toBeGreaterThan(30)
    expect(series.length).toBeLessThanOrEqual(60)
    expect(JSON.stringify(series)).not.toContain('flow-')
  })

  it('sends all of it over OTLP', async () => {
    const bodies: unknown[] = []
    const sink = createServer((req, res) => {
      const chunks: Buffer[] = []
      req.on('data', (chunk: Buffer) => chunks.push(chunk))
      req.on('end', () => {
        bodies.push({ url: req.url, ...JSON.parse(Buffer.concat(chunks).toString()) })
        res.setHeader('content-type', 'application/json').end('{}')
      })
    })
    await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve))
    stops.push(() => sink.close())
    const { port } = sink.address() as AddressInfo
    const { provider, reader } = sdk(new OTLPMetricExporter({ url: `http://127.0.0.1:${port}/v1/metrics` }))
    const { gate, run } = busyGate()
    instrumentGate(gate, { meter: provider.getMeter('test') })
    await run()
    await reader.forceFlush()
    expect(bodies).toHaveLength(1)
    const [{ url, resourceMetrics }] = bodies as [{ url: string; resourceMetrics: Otlp[] }]
    expect(url).toBe('/v1/metrics')
    const sent = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
    const units = (all: readonly { name: string; unit: string }[]): string[] =>
      all.map(({ name, unit }) => `${name} ${unit}`).sort()
    expect(units(sent)).toEqual(units(Object.values(INSTRUMENTS)))
    const duration = sent.find(({ name }) => name === 'fairlead.request.duration')
    expect(duration?.histogram?.dataPoints[0]?.explicitBounds).toContain(0.25)
  })

  it('tells several gates of one meter apart, and refuses two of one name', async () => {
    const { meter, collect } = inMemory()
    const gates = ['api', 'jobs'].map((name) => ({ name, gate: createGate() }))
    const stop = gates.map(({ name, gate }) => instrumentGate(gate, { name, meter }))
    expect(() => instrumentGate(createGate(), { name: 'api', meter })).toThrow(
      'name must tell gates apart, got "api" for two of them',
    )
    const active = async (): Promise<unknown[]> =>
      (await collect())
        .get('fairlead.active_requests')
        ?.dataPoints.map(({ attributes, value }) => [attributes['fairlead.gate'], value]) ?? []
    gates[1]!.gate.admit({ flow: 'a' })
    expect(await active()).toEqual([
      ['api', 0],
      ['jobs', 1],
    ])
    stop[0]!()
    instrumentGate(createGate(), { name: 'api', meter })
    stop[0]!() // does not stop the new one
    expect(() => instrumentGate(createGate(), { name: 'api', meter })).toThrow('for two of them')
    expect(await active()).toHaveLength(2)
  })

  it('leaves nothing behind when an option is wrong, or the meter throws', async () => {
    const { meter, collect } = inMemory()
    const failing: Meter = Object.create(meter, {
      addBatchObservableCallback: {
        value: () => {
          throw new Error('full')
        },
      },
    })
    const gate = createGate()
    for (const [options, message] of [
      [{ name: '', meter }, 'name must be a non-empty string'],
      [{ name: 'api', meter: failing }, 'full'],
    ] as const)
      for (let i = 0; i < 2; i++) expect(() => instrumentGate(gate, options)).toThrow(message)
    ;(gate.admit({ flow: 'a' }) as Permit).finish('success')
    expect([...(await collect()).keys()]).toEqual([])
    instrumentGate(gate, { name: 'api', meter })
    expect((await collect()).get('fairlead.active_requests')?.dataPoints).toHaveLength(1)
  })

  it('gives its Prometheus exporter the names of @fairlead/prometheus, without units', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const { provider, reader } = sdk(exporter)
    const { gate, run } = busyGate()
    instrumentGate(gate, { meter: provider.getMeter('test') })
    await run()
    await reader.forceFlush()
    const text = new PrometheusSerializer().serialize(exporter.getMetrics().at(-1) as ResourceMetrics)
    expect(text).toMatch(/^fairlead_requests_total\{fairlead_gate="gate",fairlead_outcome="success"/m)
    expect(text).toMatch(/^fairlead_request_duration_bucket\{fairlead_gate="gate".*le="0.25"/m)
  })
})

interface Otlp {
  readonly scopeMetrics: readonly {
    readonly metrics: readonly {
      readonly name: string
      readonly unit: string
      readonly histogram?: { readonly dataPoints: readonly { readonly explicitBounds: readonly number[] }[] }
    }[]
  }[]
}

describe('without an SDK', () => {
  it('nothing is measured, and gates may be called alike', () => {
    const gate: Gate = createGate()
    const stop = [1, 2].map(() => instrumentGate(gate, { name: 'api', meter: metrics.getMeter('none') }))
    ;(gate.admit({ flow: 'a' }) as Permit).finish('success')
    for (const each of stop) each()
  })
})

it.each([
  [null, 'got null'],
  [{}, 'got an object'],
])('refuses a meter that is none: %j', (meter, got) => {
  expect(() => instrumentGate(createGate(), { meter: meter as never })).toThrow(
    `meter must be a Meter of OpenTelemetry, ${got}`,
  )
})

it('refuses options that it does not know', () => {
  expect(() => instrumentGate(createGate(), { flow: 'a' } as object)).toThrow('instrumentGate has no option "flow"')
})
