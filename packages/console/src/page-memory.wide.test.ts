import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGate } from '@fairlead/core'
import { settled, World } from '@fairlead/core/testing'
import { expect, it } from 'vitest'
import { withBrowser } from './fixtures/browser.js'
import { fairConsole } from './index.js'
import { KEPT_FRAMES } from './views/view.js'

const browser = withBrowser()

const MINUTES = process.env['FAIRLEAD_PROPERTY_RUNS'] === undefined ? 4 : 60

it(`holds less than 60 MB after ${MINUTES} minutes of watching, with a thousand new names a second`, async () => {
  const world = new World()
  const { clock, after } = world
  const gate = createGate({ clock, after })
  const page = fairConsole(gate, { clock, after, auth: false })
  const server = createServer((request, response) => void page(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const context = await browser().newContext({ viewport: { width: 1_440, height: 900 } })
  const tab = await context.newPage()
  const devtools = await context.newCDPSession(tab)
  let names = 0
  const second = async (): Promise<void> => {
    for (let i = 0; i < 1_000; i++) {
      const decision = await gate.admit({ flow: i % 4 === 0 ? `tenant-${i % 100}` : `visitor-${names++}` })
      if (decision.admitted) decision.finish('success')
    }
    world.advance(1_000)
    await settled()
  }
  try {
    await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    await expect.poll(() => page.viewers).toBe(1)
    for (let frame = 1; frame <= 60 * MINUTES; frame++) {
      await second()
      await tab.locator(`#console[data-frames="${Math.min(frame, KEPT_FRAMES)}"]`).waitFor({ state: 'attached' })
    }
    await devtools.send('HeapProfiler.collectGarbage')
    const { usedSize } = await devtools.send('Runtime.getHeapUsage')
    expect(usedSize).toBeLessThan(60e6)
  } finally {
    await context.close()
    gate.close()
    page.close()
    server.close()
  }
}, 1_200_000)
