// Four processes without a common primary share one clock through Redis. Sends them load for the given number of
// seconds, and prints the results every ten seconds. A process that ends is replaced. SHARED=no gives each its own
// clock.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { redisFleet } from '@fairlead/redis'
import { createClient } from 'redis'
import { startDatabase } from './database.js'
import { figures, population, send } from './load.js'
import { startService } from './service.js'

const PROCESSES = 4
/** Demand of the clients, and capacity of the database, per second: it runs short unless that is much larger. */
const LOAD = Number(process.env['LOAD'] ?? 100)
const PER_SECOND = Number(process.env['PER_SECOND'] ?? LOAD)

if (process.send === undefined) await startAll()
else await startOne()

async function startOne(): Promise<void> {
  const client = createClient({ url: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379' })
  client.on('error', () => {}) // it reconnects by itself
  await client.connect()
  const fleet = redisFleet(client)
  const server = startService(0, process.pid, { name: 'orders', fleet })
  await once(server, 'listening')
  process.send?.((server.address() as AddressInfo).port)
  // Announces the departure, so that the others need not detect it.
  process.once('SIGTERM', async () => {
    await fleet.close()
    process.exit()
  })
}

async function startAll(): Promise<void> {
  const seconds = Number(process.argv[2] ?? 30)
  const database = await startDatabase(PER_SECOND)
  const children: ChildProcess[] = []
  const urls: string[] = []
  let isOver = false
  const start = async (i: number): Promise<void> => {
    const child = fork(new URL(import.meta.url), { env: { ...process.env, DATABASE: String(database) } })
    children[i] = child
    child.once('exit', () => {
      urls[i] = ''
      if (!isOver) void start(i)
    })
    const [port] = (await once(child, 'message')) as [number]
    urls[i] = `http://127.0.0.1:${port}/`
  }
  await Promise.all(Array.from({ length: PROCESSES }, (_, i) => start(i)))
  console.log('processes', children.map(({ pid }) => pid).join(' '))
  const anyUrl = (): string => {
    const some = urls.filter((url) => url !== '')
    return some[Math.floor(Math.random() * some.length)] ?? ''
  }
  for (let second = 0; second < seconds; second += 10) {
    const clients = population(LOAD)
    const began = performance.now()
    await send(anyUrl, clients, Math.min(10, seconds - second))
    const took = (performance.now() - began) / 1000
    const sharing: unknown = await (await fetch(`${anyUrl()}sharing`)).json()
    console.log(`${second} s:`, figures(clients, took), sharing)
  }
  isOver = true
  for (const child of children) child.kill()
  process.exit()
}
