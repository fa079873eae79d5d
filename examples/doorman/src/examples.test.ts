import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Doorman, startDoorman } from '@fairlead/doorman'
import { afterEach, describe, expect, it, vi } from 'vitest'

const children: ChildProcess[] = []
let doorman: Doorman | undefined
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill()
    await once(child, 'exit')
  }
  await doorman?.close()
  doorman = undefined
})

/** Runs a compiled example on free ports; returns its first output. */
async function run(name: string, more: Record<string, string> = {}): Promise<string> {
  const path = fileURLToPath(new URL(`../dist/${name}.js`, import.meta.url))
  const env = { ...process.env, PORT: '0', ...more }
  const child = spawn(process.execPath, [path], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const reader = createInterface({ input: child.stdout! })
  const [line] = (await once(reader, 'line')) as [string]
  return line
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function status(url: string): Promise<number> {
  const response = await fetch(url)
  await response.arrayBuffer()
  return response.status
}

async function json(url: string): Promise<Record<string, number | string>> {
  const response = await fetch(url)
  expect(response.status).toBe(200)
  return (await response.json()) as Record<string, number | string>
}

describe('examples', () => {
  it('database-pool: both parts have their connections, and there are never more than ten', async () => {
    const line = await run('database-pool')
    const url = `http://127.0.0.1:${/port: (\d+)/.exec(line)?.[1]}`
    let isOver = false
    const askers = ['items', 'reports'].flatMap((part) =>
      Array.from({ length: 20 }, async () => {
        while (!isOver) await json(`${url}/${part}`)
      }),
    )
    // Each wants more than there is, until each has its half; their sum never exceeds the total, even on a slow
    // machine.
    const halves = vi.waitFor(
      async () => {
        const { items, reports } = await json(`${url}/connections`)
        expect([Math.round(Number(items)), Math.round(Number(reports))]).toEqual([5, 5])
      },
      { timeout: 60_000, interval: 100 },
    )
    await Promise.all([...askers, halves.finally(() => (isOver = true))])
    const { most, inUse, refused } = await json(`${url}/connections`)
    expect(most).toBeLessThanOrEqual(10)
    expect({ inUse, refused }).toEqual({ inUse: 0, refused: 0 })
  })

  it('shared-slots: two processes never use more than there are, and one all that the other does not need', async () => {
    const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength: 6, refreshInterval: 2, parameters: [] }
    const config = { resources: [{ identifierGlob: '*', capacity: 50, safeCapacity: 0, algorithm }] }
    const port = await freePort()
    const start = async (): Promise<Doorman> =>
      startDoorman({ config, httpPort: port, host: '127.0.0.1', hostname: '127.0.0.1', fresh: true })
    doorman = await start()
    const urls = await Promise.all(
      [1, 2].map(async () => {
        const line = await run('shared-slots', { DOORMAN: `http://127.0.0.1:${port}` })
        return `http://127.0.0.1:${/port: (\d+)/.exec(line)?.[1]}`
      }),
    )
    const [busy, idle] = urls as [string, string]
    const asked = (url: string, ms: number, count: number): Promise<number[]> =>
      Promise.all(Array.from({ length: count }, (_, i) => status(`${url}/work?ms=${ms}&customer=${i % 5}`)))
    // The two answers are from different moments, so only requests that run for long are compared.
    const inUse = async (): Promise<[number, number]> => {
      const [a, b] = await Promise.all(urls.map((url) => json(`${url}/state`)))
      return [Number(a?.['inFlight']), Number(b?.['inFlight'])]
    }
    let most = 0
    const used = (count: number): Promise<void> =>
      vi.waitFor(
        async () => {
          const [a, b] = await inUse()
          most = Math.max(most, a + b)
          expect(a).toBeGreaterThanOrEqual(count)
        },
        { timeout: 60_000, interval: 20 },
      )

    // The idle service has had all of its half, and needs nothing now.
    await asked(idle, 1, 10)
    const first = asked(busy, 3_000, 100)
    // The other keeps one slot at first, and fractions of a slot are unusable.
    await used(48)
    expect(new Set(await first)).toEqual(new Set([200]))

    // Stopped for longer than a lease; meanwhile requests arrive and wait.
    await doorman.close()
    await vi.waitFor(async () => expect((await json(`${busy}/state`))['capacity']).toBe(0), { timeout: 60_000 })
    const later = asked(busy, 500, 100)
    await vi.waitFor(async () => expect((await json(`${busy}/state`))['waiting']).toBe(100), { timeout: 60_000 })
    doorman = await start()
    await used(1)
    expect(new Set(await later)).toEqual(new Set([200]))
    expect(most).toBeLessThanOrEqual(50)
  }, 120_000)

  it('outgoing-rate: both services are served, and the partner is not called more often than it allows', async () => {
    const { shop, office, partner } = JSON.parse(await run('outgoing-rate')) as Record<string, string>
    const answers = Array.from({ length: 80 }, (_, i) => json(`${i % 2 === 0 ? shop : office}/quote`))
    const quotes = await Promise.all(answers)
    const { calls, seconds } = await json(`${partner}/calls`)
    expect(calls).toBe(80)
    // A second's calls may all come at its beginning, and again when the share has moved from one service to the other.
    expect(80).toBeLessThanOrEqual(20 * (Number(seconds) + 2))
    for (const name of ['shop', 'office']) expect(quotes.filter(({ by }) => by === name)).toHaveLength(40)
  })
})
