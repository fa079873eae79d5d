import { createRequire } from 'node:module'
import { gzipSync } from 'node:zlib'
import { chromiumPath } from '@fairlead-testing/servers'
import { build } from 'esbuild'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Events } from './fixtures/events.js'
import { Rig } from './fixtures/script.js'
import type { Frame } from './frame.js'
import { drawView, type Views, viewAsHtml } from './views.js'

const SHORT = { engaged: true, capacityPerSecond: 60, fairRatePerSecond: 20, failureShare: 0.02 }
const QUIET = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`quiet-${i}`, 5]))

/** A console's frames of some seconds in which one flow asks for three times its share. */
async function framesOf(seconds: number): Promise<Frame[]> {
  const rig = new Rig({ quota: { '<heavy>': 20 }, fair: SHORT, load: 80 })
  const events = new Events(await rig.console(new Request('http://localhost/?events')))
  const frames: Frame[] = []
  for (let i = 0; i < seconds; i++) {
    await rig.second({ ...QUIET, '<heavy>': 60 })
    frames.push(await events.frame())
  }
  await events.leave()
  return frames
}

let frames: readonly Frame[]
beforeAll(async () => {
  frames = await framesOf(8)
})

describe('views as HTML', () => {
  const text = (html: string): string =>
    html
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim()

  it('say what the page says, without a script', () => {
    expect(text(viewAsHtml('state', { frames }))).toContain(
      'Short of load and orders-db for more than 7 s. 1 of 9 flows ask 60 %: &lt;heavy>.',
    )
    expect(text(viewAsHtml('flows', { frames }))).toContain('&lt;heavy> above its share')
    expect(text(viewAsHtml('shedding', { signals: frames.at(-1)!.shed }))).toContain('80: 60 % are refused')
    expect(text(viewAsHtml('capacity', { frames }))).toContain('as you set it slots 4 in use 0 measured 60/s')
    expect(text(viewAsHtml('budget', { frames }))).toContain('used in this window of 60 min')
    expect(text(viewAsHtml('waiting', { frames }))).toContain('No requests wait.')
    expect(text(viewAsHtml('refusals', { refusals: frames.at(-1)!.refusals }))).toContain(
      '&lt;heavy> : quota said over',
    )
    expect(viewAsHtml('processes', { frames })).toBe('')
  })

  it('draw charts where their width is told', () => {
    expect(viewAsHtml('river', { frames, width: 720 })).toContain('<svg width="720"')
    expect(viewAsHtml('river', { frames })).not.toContain('<svg width')
  })

  it('escape all that they are given', () => {
    const views: { [Name in keyof Views]: Views[Name] } = {
      state: { frames },
      river: { frames, width: 300 },
      flows: { frames },
      waiting: { frames },
      capacity: { frames, width: 300 },
      shedding: { signals: frames.at(-1)!.shed.map((signal) => ({ ...signal, name: '<heavy>' })), width: 300 },
      budget: { frames },
      refusals: { refusals: frames.at(-1)!.refusals },
      processes: { frames },
      bar: { parts: [{ value: 1, colour: '"><heavy>' }], most: 2, label: '<heavy>' },
      lines: { lines: [{ values: [1, 2], colour: '"><heavy>' }], label: '<heavy>' },
    }
    for (const [name, props] of Object.entries(views) as [keyof Views, never][])
      expect(viewAsHtml(name, props), name).not.toContain('<heavy>')
  })

  /** A copy with each text or number changed. */
  const changed = (value: unknown, change: (leaf: unknown) => unknown): unknown => {
    if (typeof value !== 'object' || value === null) return change(value)
    if (Array.isArray(value)) return value.map((each) => changed(each, change))
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, changed(each, change)]))
  }
  const viewsOf = (frames: readonly Frame[]): readonly (readonly [keyof Views, object])[] => [
    ['state', { frames }],
    ['river', { frames, width: 300 }],
    ['flows', { frames }],
    ['waiting', { frames }],
    ['capacity', { frames, width: 300 }],
    ['shedding', { signals: frames.at(-1)!.shed, width: 300 }],
    ['budget', { frames }],
    ['refusals', { refusals: frames.at(-1)!.refusals }],
    ['processes', { frames }],
  ]
  /** A frame with contents for every view. */
  const full = (frame: Frame): Frame => ({
    ...frame,
    queue: { ...frame.queue!, waiting: 3, flows: [{ flow: '<heavy>', waiting: 3, oldestMs: 2_000, running: 1 }] },
    lease: { id: 'db', capacity: 5, wants: 6, by: 'lease', endsInMs: 1_000 },
    overrides: [{ flow: '<heavy>', kind: 'hold', factor: 1, costPerSecond: 5, leftMs: 1_000 }],
    fleet: [
      { process: 'p', atMs: 0, admittedPerSecond: 1, refusedPerSecond: 2, inFlight: 3, waiting: 4, engaged: true },
    ],
  })

  it.each([
    ['to turn the rest around', '\u202e', '\\u202e'],
    ['to be isolated', '\u2067', '\\u2067'],
    ['of no width', '\u200b', '\\u200b'],
    ['of a line', '\n', '\\u000a'],
    ['of a terminal', '\u001b', '\\u001b'],
    ['without a partner', '\ud800', '\\ud800'],
    ['of a tag', '\u{e0041}', '\\u{e0041}'],
  ])('show a character %s in a name as what it is', (_, character, escaped) => {
    const name = `ac${character}me`
    const named = changed(frames.map(full), (leaf) => (typeof leaf === 'string' ? name : leaf)) as Frame[]
    for (const [view, props] of viewsOf(named)) {
      const html = viewAsHtml(view, props as never)
      expect(html, view).not.toContain(character)
      // The capacity view shows no names.
      expect(html.includes(`ac${escaped}me`), view).toBe(true)
    }
  })

  it('cut no character of a long name in two', () => {
    const name = `${'k'.repeat(23)}😀${'k'.repeat(20)}`
    const named = changed(frames, (leaf) => (leaf === '<heavy>' ? name : leaf)) as Frame[]
    expect(text(viewAsHtml('state', { frames: named }))).toContain(`60 %: ${'k'.repeat(23)}….`)
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    'draw what they can where a number is %s, and no such number',
    (odd) => {
      const times = (frame: Frame, i: number): Frame => ({ ...frame, atMs: 1e12 + 1_000 * i })
      const all = (changed(frames.map(full), (leaf) => (typeof leaf === 'number' ? odd : leaf)) as Frame[]).map(times)
      const views = [
        ...viewsOf(all),
        ...viewsOf([...frames.map(full).map(times), all.at(-1)!]),
        [
          'bar',
          {
            parts: [
              { value: odd, colour: 'red' },
              { value: 1, from: odd, colour: 'red' },
            ],
            most: odd,
            mark: odd,
          },
        ],
        ['lines', { lines: [{ values: [1, odd, 2], colour: 'red' }], width: 100 }],
        ['lines', { lines: [{ values: [odd], colour: 'red' }], width: odd, height: odd }],
        ['river', { frames, width: odd, spanMs: odd }],
      ] as const
      for (const [view, props] of views) expect(viewAsHtml(view, props as never), view).not.toMatch(/NaN|Infinity/)
      expect(
        viewAsHtml('lines', { lines: [{ values: [1, odd, 2], colour: 'red' }], width: 100, height: 12 }),
      ).toContain('points="0.0,6.0 100.0,1.0"')
    },
  )

  it('are a bar with parts of its length, and lines as high as their values', () => {
    const bar = viewAsHtml('bar', { parts: [{ value: 30, from: 10, colour: 'red' }], most: 40, mark: 20, label: 'b' })
    expect(bar).toContain('x="25%" width="75%" height="14" rx="4" fill="red"')
    expect(bar).toContain('x1="50%" x2="50%"')
    const lines = viewAsHtml('lines', { lines: [{ values: [0, 5, 10], colour: 'red' }], width: 100, height: 12 })
    expect(lines).toContain('points="0.0,11.0 50.0,6.0 100.0,1.0"')
  })

  it('are known by name', () => {
    expect(() => viewAsHtml('pie' as never, { frames } as never)).toThrow(/^view must be one of state, river, .*"pie"$/)
    expect(() => drawView({} as never, 'pie' as never, null)).toThrow('view must be one of')
  })
})

describe('views on another page', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: await chromiumPath(), args: ['--no-sandbox'], timeout: 180_000 })
  })
  afterAll(() => browser.close())

  it('are 24 kB gzipped, all together', async () => {
    const stdin = {
      contents: `export * from '@fairlead/console/views'`,
      resolveDir: createRequire(import.meta.url)
        .resolve('@fairlead/console/package.json')
        .replace('package.json', ''),
    }
    const built = await build({ stdin, bundle: true, minify: true, write: false, format: 'esm', platform: 'browser' })
    expect(gzipSync(built.outputFiles[0]!.text).length).toBeLessThanOrEqual(24_500)
  })

  it('are drawn, change with what they are given, answer to keys, leave the page alone, and go', async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `export * from '@fairlead/console/views'`,
        resolveDir: createRequire(import.meta.url)
          .resolve('@fairlead/console/package.json')
          .replace('package.json', ''),
      },
      bundle: true,
      write: false,
      format: 'iife',
      globalName: 'views',
      platform: 'browser',
    })
    const page = await browser.newPage({ viewport: { width: 1_000, height: 800 } })
    const wrong: string[] = []
    page.on('pageerror', ({ message }) => wrong.push(message))
    await page.setContent('<h2>Guide</h2><div id="river"></div><div id="flows"></div>')
    const sizeOf = (selector: string): Promise<string> =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).fontSize`)
    const before = await sizeOf('body > h2')
    await page.addScriptTag({ content: outputFiles[0]!.text })
    const draw = (seen: readonly Frame[]): Promise<void> =>
      page.evaluate(`for (const name of ['river', 'flows'])
        views.drawView(document.getElementById(name), name, { frames: ${JSON.stringify(seen)}, spanMs: 30_000 })`)
    await page.evaluate(
      `document.head.append(Object.assign(document.createElement('style'), { textContent: views.VIEWS_STYLE }))`,
    )
    await draw(frames.slice(0, 1))
    await page.locator('#river svg').waitFor()
    await draw(frames)
    const chart = page.locator('#river .chart')
    expect(await chart.getAttribute('aria-label')).toBe('What was served, by flow: 60/s now, <heavy> 20/s')
    await chart.focus()
    await page.keyboard.press('ArrowLeft')
    await page.locator('#river .tip', { hasText: '<heavy>' }).waitFor()
    await page.locator('#flows th button', { hasText: 'flow' }).click()
    expect(await page.locator('#flows tr[data-flow]').first().getAttribute('data-flow')).toBe('<heavy>')
    expect(await sizeOf('body > h2')).toBe(before)
    expect(await sizeOf('#river h2')).not.toBe(before)
    await page.evaluate(`views.drawView(document.getElementById('river'), 'river', null)`)
    expect(await page.locator('#river').innerHTML()).toBe('')
    expect(wrong).toEqual([])
    await page.close()
  })
})
