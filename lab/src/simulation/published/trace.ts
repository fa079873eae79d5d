import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { seededRandom } from '@fairlead/core/testing'
import { printTable } from '../../bench/table.js'
import {
  type EngineQueue,
  firstCome,
  type Generation,
  gateway,
  leastLately,
  ours,
  serve,
  tokenCounter,
  unfairness,
} from './engine.js'

/**
 * The real trace of the paper on VTC (Sheng et al., OSDI 2024), which is not kept here: 1500 requests of 27 clients to
 * a chat service in ten minutes. The paper's artifact has it (github.com/Ying1123/VTC-artifact, Apache 2.0) with the
 * results of each scheduler: `fair_bench/FCFS/all_results_real.jsonl`.
 */
const USAGE = 'pnpm --filter @fairlead/lab vtc all_results_real.jsonl [--copies 10]'

/** Seconds by which arrivals are moved in copies of the trace: the measure of one run depends on chance. */
const MOVED_S = 1

const ROWS: readonly (readonly [string, () => EngineQueue])[] = [
  ['first come', firstCome],
  ['VTC, inside the engine', () => tokenCounter()],
  ['VTC that knows the lengths', () => tokenCounter({ knows: true })],
  ['our queue, inside the engine', () => ours()],
  ['the same, costs as asked', () => ours({ estimates: 'asked' })],
  ['our queue, a gateway of 32 slots', () => gateway(32, ours())],
  ['the same, costs as asked', () => gateway(32, ours({ estimates: 'asked' }))],
  ['our queue, a gateway of 28 slots', () => gateway(28, ours())],
  ['VTC that knows the lengths, a gateway of 32 slots', () => gateway(32, tokenCounter({ knows: true }))],
  ['least in the last 30 s, knows the lengths, the same', () => gateway(32, leastLately())],
]

/** A request in the artifact's results, as far as it is used. */
interface Response {
  readonly req_time: number
  readonly adapter_dir: string
  readonly prompt_len: number
  readonly output_len: number
}

function generationsIn(text: string): readonly Generation[] {
  const clients = new Map<string, number>()
  const { result } = JSON.parse(text) as { result: { responses: readonly Response[] } }
  const generations = result.responses.map((response): Generation => {
    const { req_time: atS, adapter_dir: name, prompt_len: prompt, output_len: output } = response
    if (!clients.has(name)) clients.set(name, clients.size)
    return { client: clients.get(name)!, atS, prompt, output }
  })
  return generations.sort((a, b) => a.atS - b.atS)
}

/** The same requests at slightly other times. */
function moved(all: readonly Generation[], seed: number): readonly Generation[] {
  const random = seededRandom(seed)
  const copies = all.map((each) => ({ ...each, atS: Math.max(0, each.atS + MOVED_S * (2 * random() - 1)) }))
  return copies.sort((a, b) => a.atS - b.atS)
}

const { values, positionals } = parseArgs({
  options: { copies: { type: 'string', default: '10' } },
  allowPositionals: true,
})
const [path] = positionals
if (path === undefined) throw new Error(USAGE)
const trace = generationsIn(readFileSync(path, 'utf8'))
const copies = Array.from({ length: Number(values.copies) }, (_, i) => moved(trace, i + 1))
const mean = (all: readonly number[]): string => (all.reduce((sum, x) => sum + x, 0) / all.length).toFixed(0)
const range = (all: readonly number[]): string => `${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)}`
printTable(
  ['', 'most', 'mean', 'tokens/s', `most, mean of ${copies.length} copies`, 'from, to', 'mean', 'tokens/s'],
  ROWS.map(([title, make]) => {
    const own = unfairness(serve(trace, make()))
    const others = copies.map((copy) => unfairness(serve(copy, make())))
    return [
      title,
      ...[own.most, own.mean, own.tokensPerS].map((x) => x.toFixed(0)),
      mean(others.map(({ most }) => most)),
      range(others.map(({ most }) => most)),
      mean(others.map((each) => each.mean)),
      mean(others.map(({ tokensPerS }) => tokensPerS)),
    ]
  }),
)
