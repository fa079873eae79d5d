import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { INSTRUMENTS, type InstrumentKey } from '@fairlead/core/telemetry'
import { promtool } from '@fairlead-testing/servers'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { prometheusName } from './names.js'

const root = resolve(import.meta.dirname, '..')
const textOf = (path: string): Promise<string> => readFile(join(root, path), 'utf8')

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert?: string; readonly expr: string }[] }[]
}

interface Tests {
  readonly tests: readonly { readonly alert_rule_test?: readonly { readonly alertname: string }[] }[]
}

describe('the alerts', () => {
  it('are valid, and ring when they should and no sooner, by promtool', async () => {
    expect(await promtool('check', 'rules', join(root, 'alerts/fairlead.yml'))).toContain('SUCCESS')
    expect(await promtool('test', 'rules', join(root, 'alerts/fairlead.test.yml'))).toContain('SUCCESS')
  })

  it('each have a test', async () => {
    const { groups }: Rules = parse(await textOf('alerts/fairlead.yml'))
    const { tests }: Tests = parse(await textOf('alerts/fairlead.test.yml'))
    const tested = tests.flatMap(({ alert_rule_test = [] }) => alert_rule_test.map(({ alertname }) => alertname))
    const alerts = groups.flatMap(({ rules }) => rules.flatMap(({ alert }) => alert ?? []))
    expect([...new Set(tested)].sort()).toEqual(alerts.sort())
  })

  it('go by metrics that there are', async () => {
    const names = new Set(Object.keys(INSTRUMENTS).map((key) => prometheusName(key as InstrumentKey)))
    const { groups }: Rules = parse(await textOf('alerts/fairlead.yml'))
    for (const { expr } of groups.flatMap(({ rules }) => rules)) {
      const used = (expr.match(/\bfairlead_\w+(?=[{)[ ]|$)/g) ?? []).filter((name) => !LABELS.has(name))
      for (const name of used) expect(names, expr).toContain(name)
    }
  })
})

/** Label names, which look like metric names. */
const LABELS = new Set(
  ['fairlead.gate', ...Object.values(INSTRUMENTS).flatMap(({ attributes }) => [...attributes])].map((name) =>
    name.replaceAll('.', '_'),
  ),
)

describe('scaling on demand', () => {
  async function queries(): Promise<string[]> {
    const [keda, hpa] = await Promise.all([textOf('autoscaling/keda.yml'), textOf('autoscaling/hpa.yml')])
    const [adapter] = parseAllDocuments(hpa).map((document) => document.toJS())
    return [
      parse(keda).spec.triggers[0].metadata.query,
      parse(adapter.data['config.yaml']).externalRules[0].metricsQuery,
    ]
  }

  it('is the same with KEDA and without it', async () => {
    const [keda, hpa] = await queries()
    expect(keda).toBe(hpa)
    expect(keda).toBeDefined()
  })

  it.each([
    ['twice the replicas where twice as much is asked as is served, however idle the processes', 200, 10, 2],
    ['half of them where all is served by 35 % of the slots', 100, 35, 0.5],
    ['as many where 70 % of the slots are used', 100, 70, 1],
    ['as many for a few refusals', 105, 70, 1],
  ])('asks for %s', async (_what, asked, used, expected) => {
    const [query] = await queries()
    const series = (name: string, labels: string, values: string): object => ({
      series: `${name}{job="orders", fairlead_gate="api"${labels}}`,
      values,
    })
    const test = {
      interval: '30s',
      input_series: [
        series('fairlead_cost_total', ', fairlead_outcome="success"', '0+3000x20'),
        series('fairlead_cost_total', ', fairlead_outcome="refused"', `0+${30 * (asked - 100)}x20`),
        series('fairlead_capacity_used', '', `${used}x20`),
        series('fairlead_capacity_limit', '', '100x20'),
      ],
      promql_expr_test: [
        { expr: `round(${query}, 0.001)`, eval_time: '8m', exp_samples: [{ labels: '{}', value: expected }] },
      ],
    }
    const dir = await mkdtemp(join(tmpdir(), 'fairlead-promtool-'))
    try {
      const file = join(dir, 'scaling.yml')
      const rule_files = [join(root, 'alerts/fairlead.yml')]
      await writeFile(file, stringify({ rule_files, evaluation_interval: '30s', tests: [test] }))
      expect(await promtool('test', 'rules', file)).toContain('SUCCESS')
    } finally {
      await rm(dir, { recursive: true })
    }
  })
})
