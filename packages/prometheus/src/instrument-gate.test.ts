import { createGate, type Permit } from '@fairlead/core'
import { requestQueue } from '@fairlead/core/mechanisms'
import { INSTRUMENTS } from '@fairlead/core/telemetry'
import { manualClock } from '@fairlead/core/testing'
import { busyGate } from '@fairlead-testing/gates'
import { AggregatorRegistry, Counter, type OpenMetricsContentType, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { instrumentGate } from './instrument-gate.js'
import { prometheusName } from './names.js'

const UNNAMED = { fairlead_gate: 'gate' }

async function readingOf(
  registry: Pick<Registry, 'getSingleMetric'>,
  name: string,
  labels: Record<string, string> = {},
): Promise<unknown> {
  const metric = await registry.getSingleMetric(name)?.get()
  const wanted = JSON.stringify({ ...UNNAMED, ...labels })
  return metric?.values.find((value) => JSON.stringify(value.labels) === wanted)?.value
}

it('every instrument is a metric with its name, its help and a value', async () => {
  const registry = new Registry()
  const { gate, run } = busyGate()
  instrumentGate(gate, { registry })
  await run()
  for (const metric of await registry.getMetricsAsJSON()) {
    const [, { description }] = Object.entries(INSTRUMENTS).find(([key]) => nameOf(key) === metric.name)!
    expect(metric.help).toBe(description)
    expect(metric.values, metric.name).not.toEqual([])
  }
  expect((await registry.getMetricsAsJSON()).map(({ name }) => name).sort()).toEqual(
    Object.keys(INSTRUMENTS).map(nameOf).sort(),
  )
})

function nameOf(key: string): string {
  return prometheusName(key as keyof typeof INSTRUMENTS)
}

it('names have their units as OpenTelemetry translates them', () => {
  expect(nameOf('requests')).toBe('fairlead_requests_total')
  expect(nameOf('wait')).toBe('fairlead_request_time_in_queue_seconds')
  expect(nameOf('fairCapacity')).toBe('fairlead_fair_capacity_per_second')
  expect(nameOf('failureRatio')).toBe('fairlead_fair_failure_ratio')
  expect(nameOf('worstShare')).toBe('fairlead_fairness_worst_share_ratio')
  expect(nameOf('limit')).toBe('fairlead_capacity_limit')
})

it('values are those of the gate, each time that they are collected', async () => {
  const registry = new Registry()
  const clock = manualClock()
  const gate = createGate({ clock, queue: requestQueue({ concurrency: 1 }) })
  const stop = instrumentGate(gate, { registry })
  const first = gate.admit({ flow: 'a', cost: 5 }) as Permit
  const second = gate.admit({ flow: 'b' })
  expect(await readingOf(registry, 'fairlead_active_requests')).toBe(1)
  expect(await readingOf(registry, 'fairlead_queued_requests')).toBe(1)
  expect(await readingOf(registry, 'fairlead_capacity_limit', { fairlead_source: 'fixed' })).toBe(1)
  clock.advance(300)
  first.finish('success')
  await second
  expect(await readingOf(registry, 'fairlead_requests_total', { fairlead_outcome: 'success' })).toBe(1)
  expect(await readingOf(registry, 'fairlead_cost_total', { fairlead_outcome: 'success' })).toBe(5)
  expect(await readingOf(registry, 'fairlead_queued_requests')).toBe(0)
  const text = await registry.metrics()
  expect(text).toContain('fairlead_request_duration_seconds_bucket{le="0.25",fairlead_gate="gate"} 0')
  expect(text).toContain('fairlead_request_duration_seconds_bucket{le="0.5",fairlead_gate="gate"} 1')
  stop()
  expect(await registry.metrics()).not.toContain('fairlead_gate="gate"')
})

it('a gate is read once for all of its metrics', async () => {
  let reads = 0
  const snapshot = (): number => ++reads
  const gate = createGate({ stages: [{ name: 'counted', admit: () => undefined, snapshot }] })
  const registry = new Registry()
  instrumentGate(gate, { registry })
  await registry.metrics()
  expect(reads).toBe(1)
  await registry.metrics()
  expect(reads).toBe(2)
})

it('at most 60 series, of which the two histograms have 13 lines, with 20 000 flows', async () => {
  const registry = new Registry()
  const { gate, run } = busyGate(20_000)
  instrumentGate(gate, { registry })
  await run()
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('fairlead_'))
  expect(lines.length).toBeGreaterThan(50)
  expect(lines.length).toBeLessThanOrEqual(60 - 2 + 2 * 13)
  expect(lines.join()).not.toContain('flow-')
})

it('several gates share a registry with other metrics, but no name', async () => {
  const registry = new Registry()
  new Counter({ name: 'mine', help: 'mine', registers: [registry] }).inc()
  const gates = [createGate(), createGate()]
  instrumentGate(gates[0]!, { registry })
  expect(() => instrumentGate(gates[1]!, { registry })).toThrow(
    'name must tell gates apart, got "gate" for two of them',
  )
  instrumentGate(gates[1]!, { registry, name: 'jobs' })
  gates[1]!.admit({ flow: 'a' })
  const text = await registry.metrics()
  expect(text).toContain('mine 1')
  expect(text).toContain('fairlead_active_requests{fairlead_gate="gate"} 0')
  expect(text).toContain('fairlead_active_requests{fairlead_gate="jobs"} 1')
})

it('a registry that was cleared gets its metrics anew', async () => {
  const registry = new Registry()
  instrumentGate(createGate(), { registry })
  registry.clear()
  instrumentGate(createGate(), { registry })
  expect(await readingOf(registry, 'fairlead_active_requests')).toBe(0)
})

it('OpenMetrics has the same names', async () => {
  const registry = new Registry<OpenMetricsContentType>()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  const gate = createGate()
  instrumentGate(gate, { registry })
  ;(gate.admit({ flow: 'a' }) as Permit).finish('success')
  expect(await registry.metrics()).toMatch(/^fairlead_requests_total\{.*success"\} 1$/m)
})

it('of several processes the worst fairness is taken, as of a cluster', async () => {
  const registries = [1, 7].map(async (flows) => {
    const registry = new Registry()
    const clock = manualClock()
    const gate = createGate({ clock })
    instrumentGate(gate, { registry })
    for (let i = 0; i < 70; i++) (gate.admit({ flow: `flow-${i % flows}` }) as Permit).finish('success')
    clock.advance(20_000)
    return registry.getMetricsAsJSON()
  })
  const all = AggregatorRegistry.aggregate(await Promise.all(registries))
  expect(await readingOf(all, 'fairlead_fairness_top_share_ratio', { fairlead_rank: '1' })).toBe(1)
  for (const { name } of Object.values(INSTRUMENTS).filter(({ name }) => /fairness.*(share|jain)/.test(name))) {
    const metric = all.getSingleMetric(`${name.replaceAll('.', '_')}_ratio`)
    expect(metric && 'aggregator' in metric && metric.aggregator, name).toMatch(/^(min|max)$/)
  }
})

it.each([
  [null, 'got null'],
  [{}, 'got an object'],
])('refuses a registry that is none: %j', (registry, got) => {
  expect(() => instrumentGate(createGate(), { registry: registry as never })).toThrow(
    `registry must be a Registry of prom-client, ${got}`,
  )
})

it.each([
  ['fairnessWindowMs', { fairnessWindowMs: -1 }],
  ['name', { name: '' }],
])('leaves nothing in the registry when %s is wrong, and nobody listens', (option, options) => {
  const [registry, gate] = [new Registry(), createGate()]
  expect(() => instrumentGate(gate, { ...options, registry })).toThrow(option)
  expect(registry.getMetricsAsArray()).toEqual([])
  instrumentGate(gate, { registry })()
})

it('takes no name of other metrics, and then none at all', () => {
  const registry = new Registry()
  new Counter({ name: 'fairlead_request_time_in_queue_seconds', help: 'mine', registers: [registry] })
  const { length } = registry.getMetricsAsArray()
  expect(() => instrumentGate(createGate(), { registry })).toThrow(
    'registry must have no metric "fairlead_request_time_in_queue_seconds" of another maker',
  )
  expect(registry.getMetricsAsArray()).toHaveLength(length)
})

it('refuses options that it does not know', () => {
  expect(() => instrumentGate(createGate(), { prefix: 'a' } as object)).toThrow(
    'instrumentGate has no option "prefix"; it knows fairnessWindowMs, name, registry, weightOf',
  )
})
