/**
 * Does the process survive, with any heap, on any Node? Child processes whose requests hold a fortieth of their heap
 * for a second receive four times the load that fits: without a guard, with Fairlead's defaults, and with fixed limits.
 *
 *     pnpm bench:deaths [--heap 200 --heap 500] [--node 24] [--runs 10] [--at-once 2] [--save]
 *
 * Takes half an hour; two heaps on one Node, less than four minutes. `--save` writes the results to
 * `docs/benchmarks.md`, beside the kept results of other heaps and Nodes.
 */
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { type Course, NODES, run } from './memory-run.js'
import { machine } from './report/machine.js'
import { kept, publish } from './report/publish.js'

const FITS = 40
/** Fixed concurrency limits, as shares of the number that fits. */
const FIXED = [0.5, 0.6, 0.7, 0.8]
const PHASES = [
  { seconds: 4, perSecond: 0.4 * FITS },
  { seconds: 10, perSecond: 4 * FITS },
]

const { values } = parseArgs({
  options: {
    heap: { type: 'string', multiple: true, default: ['200', '500', '1000', '2000'] },
    node: { type: 'string', multiple: true, default: Object.keys(NODES) },
    runs: { type: 'string', default: '10' },
    'at-once': { type: 'string', default: '2' },
    save: { type: 'boolean', default: false },
  },
})
const RUNS = Number(values.runs)

/** One heap on one Node. */
interface Cell {
  readonly version: string
  readonly heapMb: number
  readonly node: string
  readonly none: Course[]
  readonly ours: Course[]
  /** By limit, as a share of the number that fits. */
  readonly fixed: Course[][]
}

const cells = values.node.flatMap((version) =>
  values.heap.map((heap): Cell => {
    const node = NODES[version]
    if (node === undefined) throw new Error(`Node ${version} is not installed for this platform`)
    return { version, heapMb: Number(heap), node, none: [], ours: [], fixed: FIXED.map(() => []) }
  }),
)

/** All runs, with the cells in turn, so that other load on the machine affects all of them. */
function* work(): Generator<() => Promise<void>> {
  for (let seed = 1; seed <= RUNS; seed++)
    for (const cell of cells) {
      const into = (courses: Course[], guard: string) => async (): Promise<void> => {
        const { node, heapMb } = cell
        const plan = { guard, kind: 'array', meanMb: heapMb / FITS, roomMb: heapMb, inContainer: false, seed }
        courses.push(await run({ node, heapMb }, { ...plan, phases: PHASES }))
      }
      yield into(cell.ours, 'fairlead')
      if (seed > 1) continue
      yield into(cell.none, 'none')
      for (const [i, share] of FIXED.entries()) yield into(cell.fixed[i]!, `at most ${share * FITS}`)
    }
}

const left = work()
await Promise.all(
  Array.from({ length: Number(values['at-once']) }, async () => {
    for (const job of left) {
      await job()
      process.stderr.write('.')
    }
  }),
)
process.stderr.write('\n')

const deathsOf = (courses: readonly Course[]): number => courses.filter(({ died }) => died).length
/** Requests served per second at four times the load that fits, of the runs that survived. */
const servedOf = (courses: readonly Course[]): number => {
  const served = courses.filter(({ died }) => !died).map(({ counts }) => counts[1]?.servedPerSecond ?? 0)
  return served.reduce((sum, one) => sum + one, 0) / served.length
}
/** The best fixed limit among those without a death. */
const bestOf = (cell: Cell): number =>
  Math.max(0, ...cell.fixed.filter((courses) => deathsOf(courses) === 0).map(servedOf))

const FILE = 'bench-deaths'
const load = loadavg()[1]!.toFixed(0)
const measured = cells.map((cell) => [
  `${cell.version}, ${cell.heapMb} MB`,
  `${deathsOf(cell.none)} of ${cell.none.length}`,
  `${deathsOf(cell.ours)} of ${cell.ours.length}`,
  servedOf(cell.ours).toFixed(1),
  bestOf(cell) === 0 ? 'all died' : (servedOf(cell.ours) / bestOf(cell)).toFixed(2),
  load,
])
const before = values.save ? ((await kept(FILE))?.tables[0]?.rows ?? []) : []
const rows = [...before.filter(([name]) => !measured.some(([other]) => other === name)), ...measured].sort(
  ([a = ''], [b = '']) => a.localeCompare(b, 'en', { numeric: true }),
)
const ours = rows.map(([, , died = '']) => died.split(' of ').map(Number))
const sum = (place: number): number => ours.reduce((total, one) => total + (one[place] ?? 0), 0)
await publish(
  {
    file: FILE,
    title: 'Requests that need more than the heap',
    about: [
      `Each request holds a fortieth of the heap on average, arrays, for a second; ${FITS} fit at once. For ` +
        `${PHASES[0]!.seconds} s ${PHASES[0]!.perSecond} a second arrive, then for ${PHASES[1]!.seconds} s ` +
        `${PHASES[1]!.perSecond}, four times the number that fits. Each run is a separate process, started with ` +
        `--max-old-space-size; ${RUNS} runs with Fairlead's defaults, one without protection, and one for each of the ` +
        `fixed limits of ${FIXED.map((share) => share * FITS).join(', ')} at once, which an operator would have to know.`,
      `${values['at-once']} at once, with precedence over everything else on the machine, which did other work: the table has ` +
        'its load average over five minutes. Without that precedence more die, and less is served: processes stall, ' +
        'and then decide at once about all requests that have arrived meanwhile.',
    ],
    tables: [
      {
        title: 'Deaths, and requests served per second in overload by the processes that survived',
        head: [
          'Node, heap',
          'died without',
          'died with Fairlead',
          'served/s',
          'of the best fixed limit',
          'load average',
        ],
        rows,
      },
    ],
    remarks: [`With Fairlead ${sum(0)} of ${sum(1)} processes died.`],
  },
  machine(Object.keys(NODES).join(', ')),
  values.save,
)
