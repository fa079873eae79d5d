import { bundleWorker, startWorkerd } from '@fairlead-testing/servers/workerd'
import { afterEach, expect, it } from 'vitest'
import { fairShare } from './fixtures/repository.js'
import { startDoorman } from './start-doorman.js'

/** Longer than several leases; minutes in the long runs, in which a machine may stall for some seconds. */
const [SECONDS, LEASE] = process.env['FAIRLEAD_PROPERTY_RUNS'] === undefined ? [8, 3] : [180, 10]

const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

it(`a worker refreshes its lease inside its requests, for ${SECONDS} s`, {
  timeout: 60_000 + SECONDS * 1_000,
}, async () => {
  const config = fairShare(10)
  for (const { algorithm } of config.resources) Object.assign(algorithm, { leaseLength: LEASE, refreshInterval: 1 })
  const doorman = await startDoorman({ config, httpPort: 0, hostname: '127.0.0.1', fresh: true, minimumRefreshMs: 0 })
  ends.push(() => doorman.close())
  const script = await bundleWorker(new URL('./fixtures/worker.ts', import.meta.url))
  const worker = await startWorkerd(script, { bindings: { DOORMAN: doorman.httpUrl! } })
  ends.push(() => worker.dispose())
  const ask = () => worker.dispatchFetch('http://worker/')
  const statuses: number[] = []
  const endMs = performance.now() + SECONDS * 1_000
  while (performance.now() < endMs) {
    // Several at once: a request cannot use I/O that another one began.
    const answers = await Promise.all([ask(), ask(), ask()])
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
