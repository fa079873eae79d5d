import { readFile } from 'node:fs/promises'
import { GateTelemetry, INSTRUMENTS, type InstrumentKey } from '@fairlead/core/telemetry'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { onPageOf, textOf, withBrowser } from './fixtures/browser.js'
import { Service, type Weather } from './fixtures/service.js'

/** `pnpm test` plays the first of the incidents alone: each takes three seconds of processor time. */
const IS_WIDE = process.env['FAIRLEAD_WIDE'] !== undefined

withBrowser()

const SHOPS = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`shop-${i}`, 12]))
const CALM: Weather = { asks: SHOPS, connections: 20, queryMs: 100, memory: 0.5 }
/** Seconds available to an operator. */
const ANSWERED = 10

interface Incident {
  readonly what: string
  readonly weather: Weather
  /** The headline after ten seconds: whether a resource is short, which one, and since when. */
  readonly short: RegExp
  /** The culprit: the rest of the sentence, and the first row of the flows. */
  readonly who: RegExp
  readonly first: RegExp
  /** The flows that suffer, as named in the sentence. */
  readonly suffers: RegExp
  /** Whether the capacity is what it should be. */
  readonly capacity: RegExp
  /** The corresponding parts of the dashboard: panel, instrument, and whether its value is right. */
  readonly grafana: readonly (readonly [panel: string, key: InstrumentKey, value: (value: number) => boolean])[]
}

const INCIDENTS: readonly Incident[] = [
  {
    what: 'a noisy neighbour',
    weather: { ...CALM, asks: { ...SHOPS, 'import-job': 300 } },
    short: /^Short of orders-db since [6-9] s\.$/,
    who: /^1 of 9 flows ask 7\d %: import-job\. /,
    first: /^import-job above its share/,
    suffers: /Quiet flows get \d\d %\.$/,
    capacity: /measured (1[89]|2[01])\d\/s/,
    grafana: [
      ['Short now', 'engaged', (value) => value === 1],
      ['The loudest flow asks', 'topShare', (value) => value > 0.7],
      ['Quiet flows get', 'quietShare', (value) => value < 0.9],
    ],
  },
  {
    what: 'one replica of two is down',
    weather: { ...CALM, connections: 7 },
    short: /^(\d+ % of what is let in fails|Short of orders-db since \d s)\.$/,
    who: /^8 flows ask 96\/s, and none stands out: there is less than they ask\. /,
    first: /^shop-\d/,
    suffers: /failed \d+ %\./,
    capacity: /runs for, p50 \/ p99 [5-9]\d\d ms \//,
    grafana: [
      ['The loudest flow asks', 'topShare', (value) => value < 0.2],
      ['Failures', 'failureRatio', (value) => value > 0.1],
    ],
  },
  {
    what: 'a slow database',
    weather: { ...CALM, queryMs: 400 },
    short: /^Short of orders-db since \d s\.$/,
    who: /^8 flows ask 96\/s, and none stands out: there is less than they ask\. /,
    first: /^shop-\d/,
    suffers: /Refused \d+ %, failed \d+ %\./,
    capacity: /runs for, p50 \/ p99 1\.\d s \//,
    grafana: [
      ['The loudest flow asks', 'topShare', (value) => value < 0.2],
      ['Failures', 'failureRatio', (value) => value > 0.1],
    ],
  },
  {
    what: 'a poison client',
    weather: { ...CALM, asks: { ...SHOPS, 'old-app': 30 }, poison: 'old-app' },
    short: /^2\d % of what is let in fails, 100 % of that at old-app\.$/,
    who: /^9 flows ask 126\/s, none above its share\. /,
    first: /^old-app fails by itself/,
    suffers: /failed 2\d %\. Quiet flows get 100 %\.$/,
    capacity: /not known yet: nothing was short so far/,
    grafana: [
      ['Short now', 'engaged', (value) => value === 0],
      ['What was asked, and what became of it', 'cost', (value) => value > 0],
    ],
  },
  {
    what: 'memory pressure',
    weather: { ...CALM, memory: 0.9 },
    short: /^Short of container memory( and orders-db)? since 9 s\.$/,
    who: /^8 flows ask 96\/s, and none stands out: there is less than they ask\. /,
    first: /^shop-\d/,
    suffers: /Refused \d\d %\./,
    capacity: /Shedding .* container memory 90 %: 6\d % are refused/,
    grafana: [
      ['Shedding', 'shedProbability', (value) => value > 0.6],
      ['Refusals by stage and reason', 'requests', (value) => value > 0],
    ],
  },
]

/** All text on the page. */
const everything = (page: Page): Promise<string> => textOf(page, 'main')

describe.each(IS_WIDE ? INCIDENTS : INCIDENTS.slice(0, 1))(
  '$what, ten seconds after it began',
  ({ weather, grafana, ...answers }) => {
    it('the page answers: short of what, who, who suffers, capacity, what then, and what to do', async () => {
      const service = new Service({ auth: () => 'ann', control: true })
      await onPageOf(service, async (page, shown) => {
        const telemetry = new GateTelemetry(service.gate, { fairnessWindowMs: 5_000 }, () => {})
        const seconds = async (count: number, weather: Weather): Promise<void> => {
          for (let i = 0; i < count; i++) {
            await service.second(weather)
            await shown()
          }
        }
        await seconds(15, CALM)
        expect(await textOf(page, '.headline')).toBe('All is well.')
        await page.getByRole('button', { name: 'Record' }).click()
        await expect.poll(() => service.console.viewers).toBe(2)
        await seconds(ANSWERED, weather)

        // 1 to 3: the sentence, and the first row below it.
        expect(await textOf(page, '.headline')).toMatch(answers.short)
        const rest = await textOf(page, '.state .rest')
        expect(rest).toMatch(answers.who)
        expect(rest).toMatch(answers.suffers)
        expect(await textOf(page, 'tr[data-flow] .name')).toMatch(answers.first)
        // 4: the panel of the resource that is short.
        expect(await everything(page)).toMatch(answers.capacity)
        // 5: a what-if of the recording.
        await page.locator(`[data-recorded="${ANSWERED}"]`).waitFor()
        expect(await page.getByRole('button', { name: 'Replay' }).isEnabled()).toBe(true)
        // 6: make it stop.
        await page.locator('tr[data-flow] .name').first().click()
        await page.getByRole('button', { name: 'Block' }).click()
        await page.getByText('Done.').waitFor()
        // 7: the state before it: the river, ten seconds back, by the keyboard.
        const chart = page.locator('section:has(#river) .chart')
        await chart.focus()
        for (let i = 0; i < ANSWERED + 2; i++) await page.keyboard.press('ArrowLeft')
        const tip = await textOf(page, '.tip')
        // The demand of all eight shops, without refusals.
        const then = [...tip.matchAll(/ ([\d.]+)\/s ([\d.]+)\/s/g)].map(([, served, refused]) => [
          Number(served),
          Number(refused),
        ])
        expect(Math.abs(then.reduce((sum, [served = 0]) => sum + served, 0) - 96)).toBeLessThan(4)
        expect(then.map(([, refused]) => refused)).toEqual(then.map(() => 0))

        const readings = [...telemetry.readings()]
        const dashboard = await readFile(new URL('../../prometheus/grafana/fairlead.json', import.meta.url), 'utf8')
        for (const [panel, key, isRight] of grafana) {
          const value = Math.max(...readings.filter(({ instrument }) => instrument === key).map(({ value }) => value))
          expect([panel, value, isRight(value)]).toEqual([panel, value, true])
          expect(queriesOf(dashboard, panel)).toContain(INSTRUMENTS[key].name.replaceAll('.', '_'))
        }
        telemetry.close()
        await service.drain()
      })
    })
  },
)

it('is what the page about incidents says of each', async () => {
  const page = await readFile(new URL('../../../docs/incidents.md', import.meta.url), 'utf8')
  for (const { what, short, who, grafana } of INCIDENTS) {
    const [, , sentence = '', , panels = ''] = page
      .split('\n')
      .find((line) => line.startsWith(`| ${what} |`))!
      .split('|')
    if (!sentence.includes('the same')) expect(sentence).toMatch(anywhere(short))
    if (sentence.includes('flows ask')) expect(sentence).toMatch(anywhere(who))
    for (const [panel] of grafana) expect(panels).toContain(`"${panel}"`)
  }
})

const anywhere = ({ source }: RegExp): RegExp => new RegExp(source.replaceAll(/^\^|\$$| $/g, ''))

/** The queries of a panel of the dashboard. */
function queriesOf(dashboard: string, title: string): string {
  const { panels } = JSON.parse(dashboard) as { panels: readonly { readonly title: string }[] }
  return JSON.stringify(panels.find((panel) => panel.title === title))
}
