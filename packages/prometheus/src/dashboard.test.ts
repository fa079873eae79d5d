import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { busyGate } from '@fairlead-testing/gates'
import { promtool } from '@fairlead-testing/servers'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { fairleadDashboard, queriesOfPanels, unseenInstruments } from './fixtures/dashboard.js'
import { instrumentGate } from './instrument-gate.js'

it('is the one that is shipped (vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(fairleadDashboard(), null, 2)}\n`).toMatchFileSnapshot('../grafana/fairlead.json')
})

it('shows every instrument', () => {
  expect(unseenInstruments()).toEqual([])
})

it('has panels that neither overlap nor leave the grid, and no two of one id', () => {
  const { panels = [] } = fairleadDashboard()
  const cells = new Set<string>()
  for (const panel of panels) {
    if (!('gridPos' in panel) || panel.gridPos === undefined) throw new Error('a panel without a place')
    const { x, y, w, h } = panel.gridPos
    expect(x + w).toBeLessThanOrEqual(24)
    for (let i = x; i < x + w; i++)
      for (let j = y; j < y + h; j++) {
        expect(cells).not.toContain(`${i}:${j}`)
        cells.add(`${i}:${j}`)
      }
  }
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
})

it("asks what has an answer: each query finds something in what a gate exports, by Prometheus' own engine", async () => {
  const registry = new Registry()
  const { gate, run } = busyGate()
  instrumentGate(gate, { registry })
  await run()
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-promtool-'))
  try {
    const file = join(dir, 'queries.yml')
    await writeFile(file, stringify({ evaluation_interval: '1m', tests: [queriesOver(await registry.metrics())] }))
    expect(await promtool('test', 'rules', file)).toContain('SUCCESS')
  } finally {
    await rm(dir, { recursive: true })
  }
})

/** A test for promtool: each query of a panel has at least one series if counts grow every minute, as exported. */
function queriesOver(exported: string): object {
  const input_series = exported
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name, labels, value] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? []
      const grows = /_(total|bucket|sum|count)$/.test(name!)
      return { series: `${name}{job="orders", ${labels}}`, values: grows ? `0+${value}x20` : `${value}x20` }
    })
  const promql_expr_test = queriesOfPanels().map(([, expr]) => {
    const query = expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'orders').replaceAll('$gate', '.*')
    return { expr: `clamp_max(count(${query}), 1)`, eval_time: '15m', exp_samples: [{ labels: '{}', value: 1 }] }
  })
  return { interval: '1m', input_series, promql_expr_test }
}

it('has the panels to which the page about incidents sends its readers', async () => {
  const page = await readFile(new URL('../../../docs/incidents.md', import.meta.url), 'utf8')
  const table = page.split('\n').filter((line) => line.startsWith('|') && line.endsWith(' |'))
  const questions = table.slice(table.indexOf('| question | console | Grafana |') + 1).slice(0, 7)
  const named = questions.flatMap((row) => [...row.split('|')[3]!.matchAll(/"([^"]+)"/g)].map(([, title]) => title))
  expect(named.length).toBeGreaterThanOrEqual(8)
  expect(fairleadDashboard().panels?.map(({ title }) => title)).toEqual(expect.arrayContaining(named))
})
