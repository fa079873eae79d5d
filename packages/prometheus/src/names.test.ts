import { readFile } from 'node:fs/promises'
import { INSTRUMENTS, type InstrumentKey } from '@fairlead/core/telemetry'
import { expect, it } from 'vitest'
import { prometheusName } from './names.js'

const docs = (page: string) => new URL(`../../../docs/${page}`, import.meta.url)

it('the documentation has all instruments, as they are called here and there, with their units and meanings', async () => {
  const page = await readFile(docs('metrics.md'), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| `fairlead.'))
  expect(rows).toEqual(
    Object.entries(INSTRUMENTS).map(([key, { name, unit, attributes, description }]) => {
      const by = attributes.map((attribute) => attribute.replace('fairlead.', '')).join(', ')
      return `| \`${name}\` | \`${prometheusName(key as InstrumentKey)}\` | \`${unit}\` | ${by} | ${description} |`
    }),
  )
})

it('the documentation has all alerts', async () => {
  const alerts = await readFile(new URL('../alerts/fairlead.yml', import.meta.url), 'utf8')
  const page = await readFile(docs('dashboards.md'), 'utf8')
  const named = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
  const told = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(told).toEqual(named)
})
