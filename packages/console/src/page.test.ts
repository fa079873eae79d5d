import { settled } from '@fairlead/core/testing'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { onPageOf, textOf, type View, violations, withBrowser } from './fixtures/browser.js'
import { type Mounted, mounts } from './fixtures/mounts.js'
import { Rig, type Script } from './fixtures/script.js'
import { basicAuth, type ConsoleOptions } from './index.js'

/** `pnpm test` opens the page in fewer of the servers, sizes and colours: each takes a second of processor time or more. */
const IS_WIDE = process.env['FAIRLEAD_WIDE'] !== undefined

const browser = withBrowser()

interface Scene {
  readonly rig: Rig
  readonly page: Page
  /** Simulates a scripted second, and waits until the page shows it. */
  second(asks: Readonly<Record<string, number>>, fails?: Readonly<Record<string, number>>): Promise<void>
}

/** Opens the page of a scripted gate. */
async function onPage(
  script: Script,
  work: (scene: Scene) => Promise<void>,
  { options = { auth: false }, ...view }: { options?: ConsoleOptions } & View = {},
): Promise<void> {
  const rig = new Rig(script, options)
  await onPageOf(
    rig,
    (page, shown) =>
      work({
        rig,
        page,
        async second(asks, fails) {
          await rig.second(asks, fails)
          await shown()
        },
      }),
    view,
  )
}

async function valuesOf(page: Page, flow: string): Promise<number[]> {
  const cells = page.locator(`tr[data-flow="${flow}"] td[data-value]`)
  return cells.evaluateAll((all) => all.map((cell) => Number(cell.getAttribute('data-value'))))
}

const QUIET = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`quiet-${i}`, 5]))
const SHORT = { engaged: true, capacityPerSecond: 60, fairRatePerSecond: 20, failureShare: 0.02 }

describe('the sentence', () => {
  it('says that all is well, and then what runs short, since when, and for which flows', async () => {
    const quota: Record<string, number> = {}
    const fair: Record<string, unknown> = { ...SHORT, engaged: false, capacityPerSecond: null }
    await onPage({ quota, fair }, async ({ page, second }) => {
      for (let i = 0; i < 3; i++) await second(QUIET)
      expect(await textOf(page, '.state p')).toBe('All is well. 8 flows ask 40/s and get it.')
      Object.assign(fair, SHORT)
      quota['heavy'] = 20
      for (let i = 0; i < 10; i++) await second({ ...QUIET, heavy: 60 })
      // 60 of 100, of which 40 are refused; the shortage was first observed nine seconds ago.
      expect(await textOf(page, '.state p')).toBe(
        'Short of orders-db since 9 s. 1 of 9 flows ask 60 %: heavy. Refused 40 %. Quiet flows get 100 %.',
      )
      expect(await textOf(page, '.numbers')).toBe(
        'asked 100/s served 60/s refused, 40 % 40/s failed 0/s in flight 0 waiting 0',
      )
      Object.assign(fair, { engaged: false })
      for (let i = 0; i < 6; i++) await second(QUIET)
      expect(await textOf(page, '.headline')).toBe('All is well.')
    })
  })

  it('says that requests fail although no flow is the cause', async () => {
    await onPage({ quota: {} }, async ({ page, second }) => {
      for (let i = 0; i < 3; i++) await second({ a: 10 }, { a: 2 })
      expect(await textOf(page, '.headline')).toBe('20 % of what is let in fails.')
    })
  })
})

describe('the flows', () => {
  it('have what they asked, may have, got and lost; those that harm come first', async () => {
    await onPage({ quota: { heavy: 20, twin: 20, 'quiet-3': 3 }, fair: SHORT }, async ({ page, second }) => {
      for (let i = 0; i < 4; i++) await second({ ...QUIET, heavy: 60, twin: 25 })
      const rows = page.locator('tr[data-flow]')
      expect(await rows.evaluateAll((all) => all.slice(0, 3).map((row) => row.getAttribute('data-flow')))).toEqual([
        'heavy',
        'twin',
        'quiet-3',
      ])
      // 78 of 125 were served, of which quiet flows ask for 40: two shares of 19 are left.
      expect(await valuesOf(page, 'heavy')).toEqual([60, 19, 20, 2 / 3])
      expect(await valuesOf(page, 'twin')).toEqual([25, 19, 20, 0.2])
      expect(await valuesOf(page, 'quiet-3')).toEqual([5, 5, 3, 0.4])
      expect(await textOf(page, 'tr[data-flow="quiet-3"] .tag')).toBe('suffers')
      expect(await textOf(page, 'tr[data-flow="heavy"] .tag')).toBe('above its share')
      await page
        .getByRole('button', { name: 'flow ' })
        .or(page.locator('th button', { hasText: 'flow' }))
        .first()
        .click()
      expect(await rows.first().getAttribute('data-flow')).toBe('heavy')
      await page.locator('th button', { hasText: 'served' }).click()
      expect(await rows.nth(2).getAttribute('data-flow')).toMatch(/^quiet-[^3]/)
    })
  })

  it('say why, by the keyboard alone', async () => {
    await onPage({ quota: { heavy: 2 }, fair: SHORT }, async ({ page, second }) => {
      await second({ heavy: 9 })
      await page.locator('tr[data-flow="heavy"] .name').focus()
      await page.keyboard.press('Enter')
      await page.getByText('It may have 20/s and is 3 requests ahead: the next is let in after 250 ms.').waitFor()
      expect(await page.locator('tr[data-flow="heavy"] .name').getAttribute('aria-expanded')).toBe('true')
    })
  })
})

const servers = IS_WIDE ? Object.keys(mounts) : ['node:http']

describe.each(servers)('the other panels, in %s', (name) => {
  it('show the waiting flows, the slots, the load on its curve, the budget, and refusals in words', async () => {
    await onPage(
      { quota: { heavy: 1 }, load: 80 },
      async ({ rig, page, second }) => {
        await second({ heavy: 3 })
        for (let i = 0; i < 4; i++) void rig.run('runner')
        for (const flow of ['slow', 'slow', 'slow', 'other']) void rig.gate.admit({ flow })
        await settled()
        await second({})
        await second({})
        expect(await textOf(page, '[data-waiting="slow"]')).toBe('3')
        expect(await textOf(page, 'section:has(#waiting) .amount')).toBe('3 · head 2 s · 0 run')
        expect(await textOf(page, 'section:has(#waiting) .head p')).toContain('4 requests')
        expect(await textOf(page, 'section:has(#capacity) .facts')).toContain('slots 4 in use 4')
        // At 80 a straight curve from 50 to 100 gives .6.
        expect(await textOf(page, 'section:has(#shedding) .signals')).toContain('80: 60 % are refused')
        expect(await textOf(page, '.priorities')).toContain('priority 0 60 %')
        expect(await textOf(page, 'section:has(#budget) .head p')).toContain('9 of 1')
        expect(await textOf(page, '.log')).toContain('heavy: quota said over; could come back in 2 s')
        expect(await textOf(page, '.headline')).toBe('Short of load and slots for more than 2 s.')
        expect(await page.locator('tr[data-flow="heavy"]').count()).toBe(1)
        const chart = page.locator('section:has(#river) .chart')
        expect(await chart.getAttribute('aria-label')).toMatch(/^What was served, by flow: /)
      },
      { mount: mounts[name]! },
    )
  })
})

describe('the other panels', () => {
  it('draw the river: each flow as high as it was served, what was refused above it', async () => {
    await onPage({ quota: { heavy: 20 }, fair: SHORT }, async ({ page, second }) => {
      for (let i = 0; i < 8; i++) await second({ ...QUIET, heavy: 60 })
      const chart = page.locator('section:has(#river) .chart')
      expect(await chart.getAttribute('aria-label')).toBe('What was served, by flow: 60/s now, heavy 20/s')
      await chart.focus()
      await page.keyboard.press('ArrowLeft')
      const tip = await textOf(page, '.tip')
      expect(tip).toContain('heavy 20/s 40/s')
      expect(tip).toContain('everyone else 40/s 0/s')
      // On an axis to 100: bands of 40, 20 and 40 high.
      const heights = await page.evaluate<number[]>(
        "[...document.querySelectorAll('section:has(#river) path[fill]')].map((path) => path.getBBox().height)",
      )
      const [others, heavy, refusedOthers, refused] = heights as [number, number, number, number]
      expect(others / heavy).toBeCloseTo(2)
      expect(refused / heavy).toBeCloseTo(2)
      expect(refusedOthers).toBeCloseTo(0)
      expect(await page.locator('section:has(#river) svg text.strong').textContent()).toBe('capacity 60/s')
    })
  })

  it('show the processes side by side', async () => {
    const words = new Map<string, string>()
    const fleet = { write: (name: string, frame: string) => words.set(name, frame), read: () => [...words.values()] }
    const rig = new Rig({ quota: { a: 3 } }, { auth: false, process: 'here', fleet })
    const server = await rig.listen()
    const page = await browser().newPage()
    try {
      await page.goto(server.url)
      await expect.poll(() => rig.console.viewers).toBe(1)
      for (let i = 0; i < 3; i++) await rig.second({ a: 5 })
      await page.locator('section:has(#fleet) tbody tr').waitFor()
      await rig.second({ a: 5 })
      await page.locator('#console[data-frames="4"]').waitFor({ state: 'attached' })
      expect(await textOf(page, 'section:has(#fleet) tbody tr')).toBe('here 3/s 2/s 0 0 well')
    } finally {
      await page.close()
      server.close()
    }
  })
})

describe('what if', () => {
  it('records while it is asked to, and replays as it was and otherwise', async () => {
    await onPage({ quota: {} }, async ({ rig, page, second }) => {
      await second({ a: 10, b: 2 })
      expect(await page.locator('#what-if').count()).toBe(1)
      await page.getByRole('button', { name: 'Record' }).click()
      await expect.poll(() => rig.console.viewers).toBe(2)
      for (let i = 0; i < 12; i++) await second({ a: 10, b: 2 })
      await page.locator('[data-recorded="12"]').waitFor()
      await page.getByRole('button', { name: 'Stop recording' }).click()
      await expect.poll(() => rig.console.viewers).toBe(1)
      await page.getByLabel('weight of a').fill('0')
      await page.getByRole('button', { name: 'Replay' }).click()
      expect(await page.locator('#replayed').count()).toBe(0)
      await page.getByLabel('weight of a').fill('3')
      await page.getByRole('button', { name: 'Replay' }).click()
      await page.locator('#replayed').waitFor()
      // There was enough for all: with any weights, each gets all that it asked for.
      expect(await textOf(page, '[data-replayed=""]')).toBe('all together 144 144 none')
      expect(await textOf(page, '[data-replayed="a"]')).toBe('a 120 120 none')
      expect(await violations(page)).toEqual([])
    })
  })
})

describe('control', () => {
  it('holds a flow at its share, shows it, and undoes it', async () => {
    await onPage(
      { quota: {} },
      async ({ rig, page, second }) => {
        await second({ heavy: 60 })
        await page.locator('tr[data-flow="heavy"] .name').click()
        await page.getByRole('button', { name: /^Hold at 60/ }).click()
        await page.getByText('Done.').waitFor()
        expect(rig.gate.snapshot().stages['overrides']).toMatchObject({ heavy: { kind: 'hold', costPerSecond: 60 } })
        await second({ heavy: 10 })
        expect(await textOf(page, 'tr[data-flow="heavy"] .tag.set')).toBe('hold')
        await page.getByRole('button', { name: /^Undo/ }).click()
        await expect.poll(() => rig.gate.snapshot().stages['overrides']).toEqual({})
      },
      { options: { auth: () => 'ann', control: true } },
    )
  })

  const fewNames = [
    ['with quotes and markup, longer than is kept', '"<b>&amp;</b>"'.repeat(20), '"<b>&amp;</b>"'],
  ] as const
  const moreNames = [
    ['without a partner for a surrogate', 't\ud800', 't\ufffd'],
    ['longer than is kept', 'k'.repeat(300), 'k'.repeat(239)],
    ['with quotes and markup', '"<b>&amp;</b>"', '<b>&amp;</b>'],
  ] as const

  it.each(IS_WIDE ? [...fewNames, ...moreNames] : fewNames)(
    'blocks a flow with a name %s, explains it, and blocks no other',
    async (_, name, innocent) => {
      await onPage(
        { quota: {} },
        async ({ rig, page, second }) => {
          await second({ [name]: 60 })
          await page.locator('tr[data-flow] .name').click()
          await page.getByRole('button', { name: 'Block' }).click()
          await page.getByText('Done.').waitFor()
          await page.getByText('An operator blocked it, for').waitFor()
          expect(await rig.gate.admit({ flow: name })).toMatchObject({ admitted: false, reason: 'blocked' })
          expect(await rig.gate.admit({ flow: innocent })).toMatchObject({ admitted: true })
          await second({ [name]: 10 })
          await page.getByRole('button', { name: /^Undo/ }).click()
          await expect.poll(() => rig.gate.snapshot().stages['overrides']).toEqual({})
        },
        { options: { auth: false, control: true } },
      )
    },
  )

  it('is not there unless it was asked for', async () => {
    await onPage({ quota: {} }, async ({ page, second }) => {
      await second({ heavy: 60 })
      await page.locator('tr[data-flow="heavy"] .name').click()
      await page.locator('.detail').waitFor()
      expect(await page.locator('.detail button').count()).toBe(0)
    })
  })
})

describe('the page', () => {
  const few = [
    [1_440, 'light'],
    [360, 'dark'],
  ] as const
  const more = [
    [1_440, 'dark'],
    [360, 'light'],
  ] as const

  it.each(IS_WIDE ? [...few, ...more] : few)(
    'has nothing that axe objects to, and fits, %i px wide and %s',
    async (width, colorScheme) => {
      const script = {
        quota: { heavy: 20, 'a-tenant-with-a-name-that-is-longer-than-most-columns': 1 },
        fair: SHORT,
        load: 80,
      }
      await onPage(
        script,
        async ({ rig, page, second }) => {
          await second(
            { ...QUIET, heavy: 60, 'a-tenant-with-a-name-that-is-longer-than-most-columns': 30 },
            { 'quiet-1': 3 },
          )
          for (let i = 0; i < 4; i++) void rig.run('runner')
          for (const flow of ['slow', 'slow', 'a-tenant-with-a-name']) void rig.gate.admit({ flow })
          await settled()
          await second({})
          await page.locator('tr[data-flow="heavy"] .name').click()
          await page.getByText('It may have 20/s').waitFor()
          const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
          expect(overflow).toBeLessThanOrEqual(0)
          expect(await violations(page)).toEqual([])
        },
        { width, colorScheme, options: { auth: false, control: true } },
      )
    },
  )

  it('pauses and goes on by a key, and misses nothing', async () => {
    await onPage({ quota: {} }, async ({ rig, page, second }) => {
      await second({ a: 10 })
      await page.keyboard.press('p')
      await page.getByText('paused').waitFor()
      await rig.second({ a: 30 })
      await rig.second({ a: 30 })
      expect(await textOf(page, '.numbers dd')).toBe('10/s')
      await page.keyboard.press('p')
      await page.locator('#console[data-frames="3"]').waitFor({ state: 'attached' })
      await expect.poll(() => textOf(page, '.numbers dd')).toBe('23.3/s')
    })
  })

  it('says so when the server is gone', async () => {
    const rig = new Rig({ quota: {} })
    const server = await rig.listen()
    const page = await browser().newPage()
    await page.goto(server.url)
    await page.getByText('live', { exact: true }).waitFor()
    server.close()
    await page.getByText('no answer; tries again').waitFor()
    await page.close()
  })

  it('comes back where it was turned away for a while', async () => {
    let away = false
    const rig = new Rig({ quota: {} }, { auth: () => !away })
    const server = await rig.listen()
    const page = await browser().newPage()
    await page.clock.install()
    await page.goto(server.url)
    await page.getByText('live', { exact: true }).waitFor()
    away = true
    const refused = page.waitForResponse((response) => response.status() === 403)
    server.disconnect()
    await refused
    await page.getByText('no answer; tries again').waitFor()
    away = false
    await page.clock.runFor(6_000)
    await page.getByText('live', { exact: true }).waitFor()
    await page.close()
    server.close()
  })
})

describe('basicAuth, in a real browser', () => {
  const server = async (): Promise<{ rig: Rig; mounted: Mounted }> => {
    const rig = new Rig({ quota: {} }, { auth: basicAuth({ ann: 'pässword: 1' }), control: true })
    return { rig, mounted: await mounts['Express']!(rig.console) }
  }

  it.each([
    ['asked for them', (origin: string) => origin, { username: 'ann', password: 'pässword: 1' }],
    ['given them in the URL', (origin: string) => origin.replace('//', `//ann:${encodeURIComponent('pässword: 1')}@`)],
  ])('lets a viewer in who was %s, to the page, its events and its acts', async (_, urlOf, httpCredentials?) => {
    const { rig, mounted } = await server()
    const changes: unknown[] = []
    rig.gate.observe((event) => event.type === 'override' && changes.push(event.change.by))
    const context = await browser().newContext(httpCredentials && { httpCredentials })
    const page = await context.newPage()
    expect((await page.goto(`${urlOf(mounted.origin)}/fairlead`))?.status()).toBe(200)
    await expect.poll(() => rig.console.viewers).toBe(1)
    await rig.second({ heavy: 60 })
    await page.locator('tr[data-flow="heavy"] .name').click()
    await page.getByRole('button', { name: 'Block' }).click()
    await page.getByText('Done.').waitFor()
    expect(changes).toEqual(['ann'])
    await context.close()
    rig.console.close()
    await mounted.close()
  })

  const wrongPassword = ['with a wrong password', { username: 'ann', password: 'password: 1' }] as const
  const wrongName = ['with a wrong name', { username: 'bob', password: 'pässword: 1' }] as const

  it.each(IS_WIDE ? [wrongPassword, wrongName] : [wrongPassword])(
    'lets no viewer in %s',
    async (_, httpCredentials) => {
      const { rig, mounted } = await server()
      const context = await browser().newContext({ httpCredentials })
      const answer = await (await context.newPage()).goto(`${mounted.origin}/fairlead`)
      expect(answer?.status()).toBe(401)
      expect((await mounted.ask('/fairlead?events')).headers.get('www-authenticate')).toContain('Basic realm=')
      expect(rig.console.viewers).toBe(0)
      await context.close()
      rig.console.close()
      await mounted.close()
    },
  )
})
