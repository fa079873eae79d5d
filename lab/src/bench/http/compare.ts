import { cpus } from 'node:os'
import { load } from './load.js'
import { pin } from './processor.js'
import { ServerProcess } from './server-process.js'

/** Requests to one server before it is the next one's turn. */
export const SLICE = 2_500
/** Requests before anything is measured: what the compiler's threads do counts as the server's time, too. */
const WARM_UP = 40_000
const MIN_ROUNDS = 5

/** What one mode cost; CPU times are medians per request, in microseconds. */
interface Cost {
  mode: string
  cpuUs: number
  aboveBareUs: number
  /** The bare server's time as a share of this mode's: how much of the server's capacity is left. */
  bareShare: number
  refused: number
}

/** What was seen of one mode. */
interface Tally {
  mode: string
  /** CPU per request of each slice, in microseconds; NaN where requests were refused. */
  slicesUs: number[]
  refused: number
}

interface Comparison {
  costs: readonly Cost[]
  rounds: number
  /** How many processors everything else on this machine kept busy meanwhile. */
  others: number
  /** Servers were kept on one processor, and their load on another. */
  pinned: boolean
}

/**
 * Runs all modes of a framework at once, each in a process of its own, and loads them in turn, slice by slice, round
 * after round for about `seconds`, so that whatever else the machine does meets all of them alike.
 */
export async function compare(
  node: string,
  framework: string,
  modes: readonly string[],
  seconds: number,
): Promise<Comparison> {
  const untilMs = performance.now() + seconds * 1_000
  const pinned = pin(process.pid, 'load')
  const tallies = modes.map((mode): Tally => ({ mode, slicesUs: [], refused: 0 }))
  const servers = await Promise.all(modes.map((mode) => ServerProcess.start(node, framework, mode)))
  let others: number
  try {
    const otherProcessors = await otherWork(servers)
    await takeTurns(servers, tallies, untilMs)
    others = await otherProcessors()
  } finally {
    for (const server of servers) server.stop()
  }
  const bare = tallies[0]?.slicesUs ?? []
  const costs = tallies.map(({ mode, slicesUs, refused }) => ({
    mode,
    cpuUs: median(slicesUs),
    // Round by round, because neighbours in time share what else the machine was doing.
    aboveBareUs: median(slicesUs.map((us, round) => us - bare[round]!)),
    bareShare: median(bare) / median(slicesUs),
    refused,
  }))
  return { costs, rounds: bare.length, others, pinned }
}

/** Loads the servers in turn until `untilMs`, and adds what each slice cost to the tally of its mode. */
async function takeTurns(servers: readonly ServerProcess[], tallies: readonly Tally[], untilMs: number): Promise<void> {
  for (const [i, { port }] of servers.entries()) tallies[i]!.refused += await load(port, WARM_UP)
  for (let round = 0; round < MIN_ROUNDS || performance.now() < untilMs; round++)
    for (const [i, server] of servers.entries()) {
      const before = await server.cpuUs()
      const refused = await load(server.port, SLICE)
      const sliceUs = ((await server.cpuUs()) - before) / SLICE
      tallies[i]!.slicesUs.push(refused === 0 ? sliceUs : Number.NaN)
      tallies[i]!.refused += refused
    }
}

/** Begins to watch the machine; the answer is how many processors neither this process nor `servers` kept busy. */
async function otherWork(servers: readonly ServerProcess[]): Promise<() => Promise<number>> {
  const ownUs = async (): Promise<number> => {
    const { user, system } = process.cpuUsage()
    const served = await Promise.all(servers.map((server) => server.cpuUs()))
    return served.reduce((total, us) => total + us, user + system)
  }
  const [startMs, busyBeforeMs, ownBeforeUs] = [performance.now(), busyMs(), await ownUs()]
  return async () => {
    const own = ((await ownUs()) - ownBeforeUs) / 1_000
    return Math.max(0, busyMs() - busyBeforeMs - own) / (performance.now() - startMs)
  }
}

/** Time that all processors together have worked since the machine started. */
function busyMs(): number {
  return cpus().reduce((total, { times }) => total + times.user + times.nice + times.sys + times.irq, 0)
}

/** NaN counts as no value. */
function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
