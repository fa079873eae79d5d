import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it, vi } from 'vitest'

let child: ChildProcess | undefined
afterEach(async () => {
  if (child === undefined) return
  child.kill()
  await once(child, 'exit')
  child = undefined
})

/** Runs a compiled example on free ports; gives all that it says first. */
async function run(name: string): Promise<string> {
  const path = fileURLToPath(new URL(`../dist/${name}.js`, import.meta.url))
  child = spawn(process.execPath, [path], { env: { ...process.env, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] })
  const reader = createInterface({ input: child.stdout! })
  const [line] = (await once(reader, 'line')) as [string]
  return line
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
    // Each wants more than there is, until each has its half; and never more at once, however slow the machine is.
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

  it('outgoing-rate: both services are served, and the partner is not called more often than it allows', async () => {
    const { shop, office, partner } = JSON.parse(await run('outgoing-rate')) as Record<string, string>
    const answers = Array.from({ length: 80 }, (_, i) => json(`${i % 2 === 0 ? shop : office}/quote`))
    const quotes = await Promise.all(answers)
    const { calls, seconds } = await json(`${partner}/calls`)
    expect(calls).toBe(80)
    // A second's calls may come at its beginning, and once more when the share has moved from one to the other.
    expect(80).toBeLessThanOrEqual(20 * (Number(seconds) + 2))
    for (const name of ['shop', 'office']) expect(quotes.filter(({ by }) => by === name)).toHaveLength(40)
  })
})
