import { cpus } from 'node:os'
import { type Load, load } from './load.js'
import { pin } from './processor.js'
import { ServerProcess } from './server-process.js'

/** Consecutive requests to one server. */
export const SLICE = 2_500
/** Processes per mode, because the layout of compiled code differs between processes and affects the cost. */
export const PROCESSES = 3
/**
 * Requests to each route before the measurement. Servers run for days, and the work of the compiler's threads counts as
 * their time: code of many small functions, such as Nest's interceptors, needs some 30,000 requests to settle.
 */
export const WARM_UP = 40_000
/** Uncounted requests to each route before each pair of slices: an idle process has lost its cache lines. */
const WAKE_UP = 500
const MIN_ROUNDS = 5

/** Cost of one mode; all are medians of the quieter rounds, CPU times per request and in microseconds. */
export interface Cost {
  mode: string
  cpuUs: number
  aboveBareUs: number
  /** Of the cheapest and of the most expensive of its processes, above the bare routes that they also serve. */
  rangeUs: readonly [least: number, most: number]
  /** The bare server's time as a share of this mode's: the part of the server's capacity that is left. */
  bareShare: number
  /** Requests per second as a share of the bare server's, in the same rounds. */
  rateShare: number
  /** p99 of request durations, in milliseconds: the median over the slices. */
  p99Ms: number
  refused: number
}

/** Measurement of a slice; NaN if requests were refused. */
interface Slice extends Load {
  /** CPU per request, in microseconds. */
  readonly cpuUs: number
}

/** One process in one round: a slice to its bare route, and one to the route behind its mode. */
interface Pair {
  readonly bare: Slice
  readonly own: Slice
}

/** Measurements of one process. */
interface Tally {
  readonly mode: string
  readonly server: ServerProcess
  readonly rounds: Pair[]
}

export interface Comparison {
  costs: readonly Cost[]
  rounds: number
  /** Number of processors that other processes kept busy meanwhile. */
  others: number
  /** The servers were pinned to one processor, and their load to another. */
  pinned: boolean
}

/**
 * Runs all modes of a framework at once, each in some processes of its own, and loads them in turn, slice by slice,
 * round after round for about `seconds` once all are warm, so that other load on the machine affects all of them alike.
 * Each process also serves a bare route, with which its mode is compared: both run the same compiled framework.
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

/** Lets the compiler finish with the servers. Both routes in turn, so that it sees both. */
async function warmUp(tallies: readonly Tally[]): Promise<void> {
  for (const { server } of tallies)
    for (let sent = 0; sent < WARM_UP; sent += SLICE) {
      await load(server.barePort, SLICE)
      await load(server.port, SLICE)
    }
}

/** Loads the servers in turn until `untilMs`, and adds the cost of each slice to their tallies. */
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
 * The half of the rounds with the least cost of all servers together. A virtual machine has slow periods, caused by its
 * neighbours on the host; they affect all modes, but most those that need caches most.
 */
function quieterHalf(tallies: readonly Tally[]): readonly number[] {
  const totals = tallies[0]!.rounds.map((_, round) => sum(tallies.map(({ rounds }) => slicesUs(rounds[round]!))))
  const byTotal = totals.map((_, round) => round).toSorted((a, b) => totals[a]! - totals[b]!)
  return byTotal.slice(0, Math.ceil(byTotal.length / 2))
}

const slicesUs = ({ bare, own }: Pair): number => bare.cpuUs + (own.cpuUs || 0)

/** Cost of one mode by its processes, in the rounds `chosen`. */
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

/** Busy time of all processors together since the machine started. */
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
