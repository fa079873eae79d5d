import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { afterEach, expect, it } from 'vitest'
import { fairShare } from './fixtures/repository.js'
import { startDoorman } from './start-doorman.js'

/** Longer than several leases; for minutes in the long runs, where a machine may stand still for some seconds. */
const [SECONDS, LEASE] = process.env['FAIRLEAD_PROPERTY_RUNS'] === undefined ? [8, 3] : [180, 10]

const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** The binary itself; the script that would put it where Miniflare looks for it is not run here. */
function workerdPath(): string {
  const fromMiniflare = createRequire(createRequire(import.meta.url).resolve('miniflare'))
  const fromWorkerd = createRequire(fromMiniflare.resolve('workerd'))
  const name = `@cloudflare/workerd-${process.platform}-${process.arch === 'x64' ? '64' : process.arch}`
  return join(dirname(fromWorkerd.resolve(`${name}/package.json`)), 'bin/workerd')
}

async function worker(url: string): Promise<Miniflare> {
  process.env['MINIFLARE_WORKERD_PATH'] ??= workerdPath()
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('./fixtures/worker.ts', import.meta.url))],
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
    target: 'es2022',
    write: false,
  })
  const miniflare = new Miniflare({
    modules: true,
    script: outputFiles[0]!.text,
    compatibilityDate: '2026-07-01',
    bindings: { DOORMAN: url },
  })
  ends.push(() => miniflare.dispose())
  await miniflare.ready
  return miniflare
}

it(`a worker refreshes its lease inside its requests, for ${SECONDS} s`, {
  timeout: 60_000 + SECONDS * 1_000,
}, async () => {
  const config = fairShare(10)
  for (const { algorithm } of config.resources) Object.assign(algorithm, { leaseLength: LEASE, refreshInterval: 1 })
  const doorman = await startDoorman({ config, httpPort: 0, hostname: '127.0.0.1', fresh: true, minimumRefreshMs: 0 })
  ends.push(() => doorman.close())
  const { dispatchFetch } = await worker(doorman.httpUrl!).then((miniflare) => ({
    dispatchFetch: () => miniflare.dispatchFetch('http://worker/'),
  }))
  const statuses: number[] = []
  const endMs = performance.now() + SECONDS * 1_000
  while (performance.now() < endMs) {
    // Several at once: what one of them began is not the others'.
    const answers = await Promise.all([dispatchFetch(), dispatchFetch(), dispatchFetch()])
    statuses.push(...answers.map(({ status }) => status))
    await Promise.all(answers.map((answer) => answer.text()))
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
  const served = statuses.filter((status) => status === 200).length
  expect(served / statuses.length, 'the part of requests that had a slot').toBeGreaterThan(0.97)
  const [resource] = doorman.server.snapshot().resources
  expect(resource!.asked, 'it asked again and again').toBeGreaterThan(3)
  expect(resource!.clients).toBe(1)
})
