import { parseArgs } from 'node:util'
import { isMainThread, workerData } from 'node:worker_threads'
import { printTable } from '../bench/table.js'
import { simulate, WINDOW } from './engine.js'
import { FAMILY_LISTS } from './families.js'
import { judge, yardstickOf } from './harm.js'
import { answerSeeds, tryInWorkers } from './in-workers.js'
import { RULES } from './rules.js'
import { GATES, type ListName, missed, type Summary, summaryOf, type Trial, tryWorld } from './trial.js'
import { worldOf } from './world.js'

const USAGE = `worlds [options]: is anybody worse off for a rule than without any?

  --seeds a-b       which worlds; 1-100 unless told
  --rules a,b       of ${[...RULES.keys()].join(', ')}; none,fair-clock,blue unless told
  --families list   ${Object.keys(FAMILY_LISTS).join(', ')}; first unless told
  --json            the summaries alone, as JSON
  --explain seed    the course of one world, in windows of ${WINDOW} s
  --gate            fair-clock in worlds 1-300, and in 1-100 of daily; exits 1 if it misses a bound`

/** Worlds to try, all under the same rules. */
interface Order {
  readonly list: ListName
  readonly rules: readonly string[]
}

async function main(): Promise<void> {
  try {
    const { values } = parseArgs({
      options: {
        help: { type: 'boolean' },
        gate: { type: 'boolean' },
        seeds: { type: 'string', default: '1-100' },
        rules: { type: 'string', default: 'none,fair-clock,blue' },
        families: { type: 'string', default: 'first' },
        explain: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    })
    if (values.help) console.log(USAGE)
    else if (values.gate) await gate()
    else {
      const order = { list: listOf(values.families), rules: rulesOf(values.rules) }
      if (values.explain !== undefined) explain(order, seedsOf('--explain', values.explain)[0])
      else {
        const trials = await tryInWorkers(import.meta.url, order, ...seedsOf('--seeds', values.seeds))
        if (values.json)
          console.log(JSON.stringify(Object.fromEntries(order.rules.map((rule) => [rule, summaryOf(trials, rule)]))))
        else print(trials, order.rules)
      }
    }
  } catch (error) {
    if (!(error instanceof RangeError || isUsage(error))) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}

function isUsage(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
}

function listOf(name: string): ListName {
  if (Object.hasOwn(FAMILY_LISTS, name)) return name as ListName
  throw new RangeError(`--families must be of ${Object.keys(FAMILY_LISTS).join(', ')}, not ${name}`)
}

function rulesOf(text: string): readonly string[] {
  const names = text.split(',')
  for (const name of names)
    if (!RULES.has(name)) throw new RangeError(`--rules must be of ${[...RULES.keys()].join(', ')}, not ${name}`)
  return names
}

function seedsOf(option: string, text: string): readonly [number, number] {
  const [, first = '', last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? []
  if (first === '' || Number(last) < Number(first)) throw new RangeError(`${option} must be like 1-100, not ${text}`)
  return [Number(first), Number(last)]
}

async function gate(): Promise<void> {
  for (const [list, last, bounds] of GATES) {
    const trials = await tryInWorkers(import.meta.url, { list, rules: ['fair-clock'] }, 1, last)
    console.log(`\n${list}`)
    print(trials, ['fair-clock'])
    const lines = missed(summaryOf(trials, 'fair-clock'), bounds)
    for (const line of lines) console.error(`${list}: ${line}`)
    if (lines.length > 0) process.exitCode = 1
  }
}

const COLUMNS: readonly (readonly [string, (summary: Summary) => string])[] = [
  ['worlds', ({ worlds }) => String(worlds)],
  ['harm', ({ harm }) => harm.toFixed(3)],
  ['95 %', ({ harm95 }) => harm95.toFixed(3)],
  ['worst', ({ harmWorst }) => harmWorst.toFixed(3)],
  ['above 5 %', ({ above5 }) => percent(above5)],
  ['above 20 %', ({ above20 }) => percent(above20)],
  ['good', ({ good }) => good.toFixed(3)],
  ['Jain', ({ jain }) => jain.toFixed(3)],
  ['failed', ({ failed }) => failed.toFixed(3)],
  ['needless', ({ needless }) => needless.toFixed(4)],
  ['recovered', ({ recovered }) => recovered.toFixed(3)],
]

/** Each rule in all worlds; then the rules by family, and the worlds that they harm most. */
function print(trials: readonly Trial[], rules: readonly string[]): void {
  const head = COLUMNS.map(([title]) => title)
  const cells = (some: readonly Trial[], rule: string): string[] => {
    const summary = summaryOf(some, rule)
    return COLUMNS.map(([, cell]) => cell(summary))
  }
  printTable(
    ['rule', ...head],
    rules.map((rule) => [rule, ...cells(trials, rule)]),
  )
  const families = [...new Set(trials.flatMap((trial) => trial.families))].sort()
  for (const rule of rules.filter((name) => name !== 'none')) {
    console.log(`\n${rule} by family`)
    printTable(
      ['family', ...head],
      families.map((family) => [
        family,
        ...cells(
          trials.filter((one) => one.families.includes(family)),
          rule,
        ),
      ]),
    )
    const harmOf = ({ measures }: Trial): number => measures[rule]!.harm || 0
    const worst = [...trials].sort((a, b) => harmOf(b) - harmOf(a)).slice(0, 5)
    for (const one of worst) console.log(`seed ${one.seed}: ${percent(harmOf(one))} (${one.families.join(' + ')})`)
  }
}

function explain({ list, rules }: Order, seed: number): void {
  const world = worldOf(seed, FAMILY_LISTS[list])
  console.log(JSON.stringify(world, null, 1))
  const yardstick = yardstickOf(world, simulate(world, RULES.get('none')!))
  for (const name of rules) {
    const states: string[] = []
    const run = simulate(world, RULES.get(name)!, (window, controllers) => {
      states[window] = controllers.map((controller) => controller.state?.() ?? '').join(' ')
    })
    console.log(`\n${name}`, judge(yardstick, run))
    const columns = ['asked', 'served', 'refused', 'failed', 'doomed'] as const
    const rows = Array.from({ length: run.windows }, (_, w) => [
      String((w + 1) * WINDOW),
      ...[run.known, run.strangers].flatMap((course) => columns.map((column) => course[column][w]!.toFixed(0))),
      states[w] ?? '',
    ])
    printTable(['s', ...columns, ...columns.map((column) => `strangers ${column}`), 'engaged/capacity/usual'], rows)
  }
}

function percent(x: number): string {
  return `${(100 * x).toFixed(1)} %`
}

if (isMainThread) await main()
else {
  const { list, rules } = workerData as Order
  answerSeeds((seed) => tryWorld(list, seed, rules))
}
