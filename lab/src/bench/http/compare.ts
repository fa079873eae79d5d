import { cpus } from 'node:os'
import { load } from './load.js'
import { ServerProcess } from './server-process.js'

/** Requests to one server before it is the next one's turn. */
export const SLICE = 2_500
const WARM_UP_SLICES = 4
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

interface Comparison {
  costs: readonly Cost[]
  rounds: number
  /** How many processors everything else on this machine kept busy meanwhile. */
  others: number
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
  const servers = await Promise.all(modes.map((mode) => ServerProcess.start(node, framework, mode)))
  try {
    const others = await otherWork(servers)
    const until = performance.now() + seconds * 1_000
    const refused = new Map<ServerProcess, number>()
    for (const server of servers) refused.set(server, await load(server.port, WARM_UP_SLICES * SLICE))
    const slices = new Map(servers.map((server) => [server, [] as number[]]))
    let rounds = 0
    for (; rounds < MIN_ROUNDS || performance.now() < until; rounds++)
      for (const server of servers) {
        const before = await server.cpuUs()
        refused.set(server, refused.get(server)! + (await load(server.port, SLICE)))
        slices.get(server)!.push(((await server.cpuUs()) - before) / SLICE)
      }
    const bare = slices.get(servers[0]!)!
    const costs = servers.map((server) => {
      const own = slices.get(server)!
      return {
        mode: server.mode,
        cpuUs: median(own),
        // Round by round, because neighbours in time share what else the machine was doing.
        aboveBareUs: median(own.map((us, round) => us - bare[round]!)),
        bareShare: median(bare) / median(own),
        refused: refused.get(server)!,
      }
    })
    return { costs, rounds, others: await others() }
  } finally {
    for (const server of servers) server.stop()
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

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
