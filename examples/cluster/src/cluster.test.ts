import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Program } from '@fairlead-testing/examples'
import { eventually } from '@fairlead-testing/waiting'
import { afterEach, describe, expect, it } from 'vitest'
import { type Client, population, send } from './load.js'

const SERVER = new URL('../dist/server.js', import.meta.url)
const THREADS = new URL('../dist/threads.js', import.meta.url)
/** Low enough for the load of a slow machine to exceed it. */
const SHORT = { PER_SECOND: '20' }

interface Sharing {
  worker: number
  sharing: { members: number; part: number; ageMs: number } | null
}

let program: Program | undefined
afterEach(() => program?.stop())

/** Each worker's state: the workers answer in turn. */
async function workers(): Promise<Sharing[]> {
  const answers = new Map<number, Sharing>()
  for (let i = 0; i < 40 && answers.size < 4; i++) {
    const headers = { connection: 'close' }
    const answer = (await (await fetch(`${program?.url}/sharing`, { headers })).json()) as Sharing
    answers.set(answer.worker, answer)
  }
  return [...answers.values()]
}

/** Sends load until `holds` resolves. */
async function during(holds: (clients: readonly Client[]) => Promise<void>): Promise<void> {
  const clients = population()
  let isOver = false
  const load = (async () => {
    while (!isOver) await send(() => program?.url ?? '', clients, 1)
  })()
  try {
    await eventually(() => holds(clients))
  } finally {
    isOver = true
    await load
  }
}

describe('four workers of node:cluster', () => {
  it('share one clock as soon as their database is short, without configuration', async () => {
    program = await Program.start(SERVER, SHORT)
    expect((await workers()).map(({ sharing }) => sharing)).toEqual([null, null, null, null])
    await during(async () => {
      const all = await workers()
      expect(all.map(({ sharing }) => sharing?.members)).toEqual([4, 4, 4, 4])
      expect(all.reduce((sum, { sharing }) => sum + (sharing?.part ?? 0), 0)).toBeCloseTo(1, 0)
    })
  })

  it('keep their own if told to', async () => {
    program = await Program.start(SERVER, { ...SHORT, SHARED: 'no' })
    await during(async (clients) => {
      expect(clients.reduce((sum, { failed }) => sum + failed, 0)).toBeGreaterThan(40)
    })
    expect((await workers()).map(({ sharing }) => sharing)).toEqual([null, null, null, null])
  })
})

describe('worker threads', () => {
  it('share one clock, which the main thread keeps', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(THREADS)])
    expect(stdout).toContain('each of 2 threads shares its clock')
  })
})
