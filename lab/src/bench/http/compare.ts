import { cpus } from 'node:os'
import { type Load, load } from './load.js'
import { pin } from './processor.js'
import { ServerProcess } from './server-process.js'

/** Requests to one server before it is the next one's turn. */
export const SLICE = 2_500
/** Processes that serve each mode: how a compiler happens to lay one out is worth several microseconds a request. */
export const PROCESSES = 3
/** Requests before anything is measured: what the compiler's threads do counts as the server's time, too. */
const WARM_UP = 20_000
const MIN_ROUNDS = 5

/** What one mode cost; CPU times are medians of rounds per request, in microseconds. */
export interface Cost {
  mode: string
  cpuUs: number
  aboveBareUs: number
  /** Of the cheapest and of the dearest of its processes, above the mean of the bare ones. */
  rangeUs: readonly [least: number, most: number]
  /** The bare server's time as a share of this mode's: how much of the server's capacity is left. */
  bareShare: number
  /** Requests per second as a share of the bare server's, in the same rounds. */
  rateShare: number
  /** Of the times that requests took, in milliseconds: the median of the slices' own. */
  p99Ms: number
  refused: number
}

/** What was seen of one process. */
interface Tally {
  mode: string
  server: ServerProcess
  /** CPU per request of each slice, in microseconds; NaN where requests were refused. */
  slicesUs: number[]
  /** Every slice, as its load saw it. */
  loads: Load[]
  refused: number
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
 * round after round for about `seconds`, so that whatever else the machine does meets all of them alike.
 */
export async function compare(
  node: string,
  framework: string,
  modes: readonly string[],
  seconds: number,
): Promise<Comparison> {
  const untilMs = performance.now() + seconds * 1_000
  const pinned = pin(process.pid, 'load')
  const tallies: Tally[] = []
  let others: number
  try {
    for (let i = 0; i < PROCESSES; i++)
      for (const mode of modes)
        tallies.push({
          mode,
          server: await ServerProcess.start(node, framework, mode),
          slicesUs: [],
          loads: [],
          refused: 0,
        })
    const otherProcessors = await otherWork(tallies)
    await takeTurns(tallies, untilMs)
    others = await otherProcessors()
  } finally {
    for (const { server } of tallies) server.stop()
  }
  const bare = roundsOf(tallies, modes[0]!, cpu)
  const bareMs = roundsOf(tallies, modes[0]!, wall)
  const costs = modes.map((mode): Cost => {
    const rounds = roundsOf(tallies, mode, cpu)
    const roundsMs = roundsOf(tallies, mode, wall)
    const own = tallies.filter((tally) => tally.mode === mode)
    const aboveUs = own.map(({ slicesUs }) => median(slicesUs.map((us, round) => us - bare[round]!)))
    return {
      mode,
      cpuUs: median(rounds),
      // Round by round, because neighbours in time share what else the machine was doing.
      aboveBareUs: median(rounds.map((us, round) => us - bare[round]!)),
      rangeUs: [Math.min(...aboveUs), Math.max(...aboveUs)],
      bareShare: median(bare) / median(rounds),
      rateShare: median(roundsMs.map((ms, round) => bareMs[round]! / ms)),
      p99Ms: median(own.flatMap(({ loads }) => loads.map(({ p99Ms }) => p99Ms))),
      refused: own.reduce((sum, { refused }) => sum + refused, 0),
    }
  })
  return { costs, rounds: bare.length, others, pinned }
}

/** Loads the servers in turn until `untilMs`, and adds to their tallies what each slice cost. */
async function takeTurns(tallies: readonly Tally[], untilMs: number): Promise<void> {
  for (const tally of tallies) tally.refused += (await load(tally.server.port, WARM_UP)).refused
  for (let round = 0; round < MIN_ROUNDS || performance.now() < untilMs; round++)
    for (const tally of tallies) {
      const { server } = tally
      const before = await server.cpuUs()
      const slice = await load(server.port, SLICE)
      const sliceUs = ((await server.cpuUs()) - before) / SLICE
      tally.slicesUs.push(slice.refused === 0 ? sliceUs : Number.NaN)
      tally.loads.push(slice)
      tally.refused += slice.refused
    }
}

/** What a slice cost its server, in microseconds; and how long it took. NaN where requests were refused. */
const cpu = ({ slicesUs }: Tally): readonly number[] => slicesUs
const wall = ({ loads }: Tally): readonly number[] => loads.map(({ ms, refused }) => (refused === 0 ? ms : Number.NaN))

/** The mean of a mode's processes in each round, of what `measured` gives for each slice. */
function roundsOf(
  tallies: readonly Tally[],
  mode: string,
  measured: (tally: Tally) => readonly number[],
): readonly number[] {
  const own = tallies.filter((tally) => tally.mode === mode).map(measured)
  return (own[0] ?? []).map((_, round) => own.reduce((sum, slices) => sum + slices[round]!, 0) / own.length)
}

/** Begins to watch the machine; the answer is how many processors neither this process nor its servers kept busy. */
async function otherWork(tallies: readonly Tally[]): Promise<() => Promise<number>> {
  const ownUs = async (): Promise<number> => {
    const { user, system } = process.cpuUsage()
    const served = await Promise.all(tallies.map(({ server }) => server.cpuUs()))
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
