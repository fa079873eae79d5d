/**
 * What the default middleware costs: CPU time of the server per request, beside a bare server, one that only counts
 * closed responses, and a popular rate limiter.
 *
 * All servers run at once, each in a process of its own, and are loaded in turn, a slice of requests each, round after
 * round: whatever else the machine does meets all of them alike. `--node <path>` runs the servers on another Node.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { node24 } from '@fairlead/runtimes'
import { modes, type Usage } from './http-server.js'
import { printTable } from './table.js'

const CONNECTIONS = 20
const ROUNDS = 20
const SLICE = 2_500
const WARM_UP_SLICES = 4
const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'

interface Server {
  mode: string
  process: ChildProcess
  port: number
  /** CPU per request of each slice, in microseconds; NaN where requests were refused. */
  slices: number[]
  refused: number
}

async function start(node: string, mode: string): Promise<Server> {
  const child = fork(fileURLToPath(new URL('./http-server.js', import.meta.url)), [mode], {
    execPath: node,
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return { mode, process: child, port, slices: [], refused: 0 }
}

async function cpuUs(server: Server): Promise<number> {
  const answer = once(server.process, 'message') as Promise<[Usage]>
  server.process.send('usage')
  const [usage] = await answer
  return usage.cpuUs
}

/**
 * Sends `requests` over keep-alive connections, each waiting for its answer before it asks again. Gives how many were
 * refused: a machine that is very busy with other things makes any event loop late, and the default sheds by that.
 */
function load(port: number, requests: number): Promise<number> {
  let toSend = requests
  let toReceive = requests
  let refused = 0
  return new Promise((resolve, reject) => {
    for (let i = 0; i < CONNECTIONS; i++) {
      const socket = connect(port, '127.0.0.1')
      const ask = (): void => {
        if (toSend-- > 0) socket.write(REQUEST)
        else socket.end()
      }
      socket.setEncoding('latin1')
      socket.on('error', reject)
      socket.on('connect', ask)
      // The answer is one small packet.
      socket.on('data', (text: string) => {
        if (!text.startsWith('HTTP/1.1 200')) refused++
        ask()
        if (--toReceive === 0) resolve(refused)
      })
    }
  })
}

/** NaN counts as no value. */
function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

async function measure(node: string): Promise<void> {
  const servers = await Promise.all(Object.keys(modes).map((mode) => start(node, mode)))
  for (const server of servers) await load(server.port, WARM_UP_SLICES * SLICE)
  for (let round = 0; round < ROUNDS; round++)
    for (const server of servers) {
      const before = await cpuUs(server)
      const refused = await load(server.port, SLICE)
      const used = ((await cpuUs(server)) - before) / SLICE
      server.slices.push(refused === 0 ? used : Number.NaN)
      server.refused += refused
    }
  for (const server of servers) server.process.disconnect()

  const bare = servers[0]?.slices ?? []
  const rows = servers.map(({ mode, slices, refused }) => {
    // Round by round, because neighbours in time share what else the machine was doing.
    const above = median(slices.map((slice, round) => slice - (bare[round] ?? Number.NaN)))
    return [mode, median(slices).toFixed(1), above.toFixed(1), (median(bare) / median(slices)).toFixed(2), `${refused}`]
  })
  printTable(['mode', 'CPU µs/request', 'above bare', 'bare ÷ mode', 'refused'], rows)
}

const { values } = parseArgs({ options: { node: { type: 'string' } } })
const nodes = values.node === undefined ? [process.execPath, ...(node24 ? [node24] : [])] : [values.node]
console.log(
  `Express with one small JSON route; medians of ${ROUNDS} slices of ${SLICE} requests, ${CONNECTIONS} connections`,
)
for (const node of nodes) {
  console.log(`\nserver on Node.js ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`)
  await measure(node)
}
