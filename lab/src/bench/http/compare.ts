import { cpus } from 'node:os'
import { type Load, load } from './load.js'
import { pin } from './processor.js'
import { ServerProcess } from './server-process.js'

/** Requests to one server before it is the next one's turn. */
export const SLICE = 2_500
/** Processes that serve each mode: how the compiler happens to lay one out is worth something, too. */
export const PROCESSES = 3
/**
 * Requests to each route before anything is measured. Servers run for days, and what the compiler's threads do counts
 * as their time: code of many small functions, as Nest's interceptors are, is not settled before some 30,000 requests.
 */
export const WARM_UP = 40_000
/** To each route before each pair of slices, not counted: a process that was idle has lost its caches to others. */
const WAKE_UP = 500
const MIN_ROUNDS = 5

/** What one mode cost; all are medians of the quieter rounds, CPU times per request and in microseconds. */
export interface Cost {
  mode: string
  cpuUs: number
  aboveBareUs: number
  /** Of the cheapest and of the dearest of its processes, above the bare routes that they serve as well. */
  rangeUs: readonly [least: number, most: number]
  /** The bare server's time as a share of this mode's: how much of the server's capacity is left. */
  bareShare: number
  /** Requests per second as a share of the bare server's, in the same rounds. */
  rateShare: number
  /** Of the times that requests took, in milliseconds: the median of the slices' own. */
  p99Ms: number
  refused: number
}

/** What was seen of a slice; NaN where requests were refused. */
interface Slice extends Load {
  /** CPU per request, in microseconds. */
  readonly cpuUs: number
}

/** One process in one round: a slice to its bare route, and one to the route behind its mode. */
interface Pair {
  readonly bare: Slice
  readonly own: Slice
}

/** What was seen of one process. */
interface Tally {
  readonly mode: string
  readonly server: ServerProcess
  readonly rounds: Pair[]
}

export interface Comparison {
  costs: readonly Cost[]
  rounds: number
  /** How many processors everything else on this machine kept busy meanwhile. */
  others: number
  /** Servers were kept on one processor, and their load on another. */
  pinned: boolean
}

/**
 * Runs all modes of a framework at once, each in some processes of its own, and loads them in turn, slice by slice,
 * round after round for about `seconds` once all are warm, so that whatever else the machine does meets all of them
 * alike. Each process serves a bare route as well, and that is what its mode is compared with: both run the same
 * compiled framework.
 */
export async function compare(
  node: string,
  framework: string,
  modes: readonly string[],
  seconds: number,
): Promise<Comparison> {
  const pinned = pin(process.pid, 'load')
  const tallies: Tally[] = []
  let others: number
  try {
    for (let i = 0; i < PROCESSES; i++)
      for (const mode of modes)
        tallies.push({ mode, server: await ServerProcess.start(node, framework, mode), rounds: [] })
    await warmUp(tallies)
    const otherProcessors = await otherWork(tallies)
    await takeTurns(tallies, performance.now() + seconds * 1_000)
    others = await otherProcessors()
  } finally {
    for (const { server } of tallies) server.stop()
  }
  const quiet = quieterHalf(tallies)
  const costs = modes.map((mode) =>
    costOf(
      mode,
      tallies.filter((tally) => tally.mode === mode),
      quiet,
    ),
  )
  return { costs, rounds: tallies[0]!.rounds.length, others, pinned }
}

/** Has the compiler done with the servers. Both routes in turn, so that it sees both. */
async function warmUp(tallies: readonly Tally[]): Promise<void> {
  for (const { server } of tallies)
    for (let sent = 0; sent < WARM_UP; sent += SLICE) {
      await load(server.barePort, SLICE)
      await load(server.port, SLICE)
    }
}

/** Loads the servers in turn until `untilMs`, and adds to their tallies what each slice cost. */
async function takeTurns(tallies: readonly Tally[], untilMs: number): Promise<void> {
  for (let round = 0; round < MIN_ROUNDS || performance.now() < untilMs; round++)
    for (const { server, rounds } of tallies) {
      await load(server.barePort, WAKE_UP)
      await load(server.port, WAKE_UP)
      const bare = await slice(server, server.barePort)
      rounds.push({ bare, own: await slice(server, server.port) })
    }
}

async function slice(server: ServerProcess, port: number): Promise<Slice> {
  const beforeUs = await server.cpuUs()
  const { ms, p99Ms, refused } = await load(port, SLICE)
  const cpuUs = ((await server.cpuUs()) - beforeUs) / SLICE
  return refused === 0 ? { cpuUs, ms, p99Ms, refused } : { cpuUs: Number.NaN, ms: Number.NaN, p99Ms, refused }
}

/**
 * Which rounds cost all servers together least: half of them. A virtual machine has slow spells, which come from its
 * neighbours on the host; they meet all modes, but most what needs caches most.
 */
function quieterHalf(tallies: readonly Tally[]): readonly number[] {
  const totals = tallies[0]!.rounds.map((_, round) => sum(tallies.map(({ rounds }) => slicesUs(rounds[round]!))))
  const byTotal = totals.map((_, round) => round).toSorted((a, b) => totals[a]! - totals[b]!)
  return byTotal.slice(0, Math.ceil(byTotal.length / 2))
}

const slicesUs = ({ bare, own }: Pair): number => bare.cpuUs + (own.cpuUs || 0)

/** What the processes of one mode say of it, in the rounds `chosen`. */
function costOf(mode: string, tallies: readonly Tally[], chosen: readonly number[]): Cost {
  const pairsOf = ({ rounds }: Tally): Pair[] => chosen.map((round) => rounds[round]!)
  const pairs = tallies.flatMap(pairsOf)
  const aboveUs = tallies.map((tally) => median(pairsOf(tally).map(({ bare, own }) => own.cpuUs - bare.cpuUs)))
  return {
    mode,
    cpuUs: median(pairs.map(({ own }) => own.cpuUs)),
    aboveBareUs: sum(aboveUs) / aboveUs.length,
    rangeUs: [Math.min(...aboveUs), Math.max(...aboveUs)],
    bareShare: median(pairs.map(({ bare, own }) => bare.cpuUs / own.cpuUs)),
    rateShare: median(pairs.map(({ bare, own }) => bare.ms / own.ms)),
    p99Ms: median(pairs.map(({ own }) => own.p99Ms)),
    refused: sum(tallies.flatMap(({ rounds }) => rounds.map(({ own }) => own.refused))),
  }
}

/** Begins to watch the machine; the answer is how many processors neither this process nor its servers kept busy. */
async function otherWork(tallies: readonly Tally[]): Promise<() => Promise<number>> {
  const ownUs = async (): Promise<number> => {
    const { user, system } = process.cpuUsage()
    const served = await Promise.all(tallies.map(({ server }) => server.cpuUs()))
    return sum(served) + user + system
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

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** NaN counts as no value. */
function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
