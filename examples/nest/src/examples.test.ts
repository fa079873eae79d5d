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

/** Runs a compiled example on a free port; gives its address, and the lines that it prints after that. */
async function run(name: string): Promise<{ url: string; lines: string[] }> {
  const path = fileURLToPath(new URL(`../dist/${name}.js`, import.meta.url))
  child = spawn(process.execPath, [path], { env: { ...process.env, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout! })
  reader.on('line', (line) => lines.push(line))
  await once(reader, 'line')
  return { url: `http://127.0.0.1:${/port: (\d+)/.exec(lines.join(' '))?.[1]}`, lines }
}

function ask(url: string, key: string): Promise<Response> {
  return fetch(url, { headers: { 'x-api-key': key } })
}

async function json(url: string): Promise<unknown> {
  return (await ask(url, 'quiet')).json()
}

const PATIENCE = { timeout: 20_000 }

describe('examples', () => {
  it('minimal: says hello', async () => {
    const { url } = await run('minimal')
    expect(await (await fetch(url)).text()).toBe('hello\n')
  })

  it('tenants: serves, refuses whoever empties the pool, and holds nothing at the end', async () => {
    const { url, lines } = await run('tenants')
    // A machine that is busy with other things may have it shed a few before.
    await vi.waitFor(async () => expect(await json(`${url}/items`)).toEqual(['rope', 'cleat']), PATIENCE)
    await vi.waitFor(async () => expect(await json(`${url}/report`)).toEqual({ pages: 10, cost: 10 }), PATIENCE)
    const statuses = new Set<number>()
    while (!statuses.has(429)) {
      const replies = await Promise.all(Array.from({ length: 30 }, () => ask(`${url}/items`, 'loud')))
      for (const { status } of replies) statuses.add(status)
    }
    expect([...statuses].toSorted()).toEqual([200, 429, 503])
    expect(lines.some((line) => line === 'refused loud: unfair')).toBe(true)
    expect(await (await fetch(`${url}/health`)).text()).toBe('ok')
    await vi.waitFor(async () => {
      // The request that asks is the one that is held.
      expect(await json(`${url}/admission`)).toMatchObject({ inFlight: 1, waiting: 0 })
    }, PATIENCE)
  })
})
