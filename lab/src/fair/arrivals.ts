import { seededRandom } from '@fairlead/core/testing'
import type { Crowd, Scenario } from './scenario.js'

/** One flow of a scenario, as the oracles see it: a flow that changes its name stays one flow. */
export interface Flow {
  readonly crowd: Crowd
  /** Requests per second while it is on. */
  readonly rate: number
  readonly weight: number
}

/** All requests of a run, in order of time: parallel arrays, because there are up to a million. */
export interface Arrivals {
  readonly flows: readonly Flow[]
  readonly count: number
  /** In seconds from the start. */
  readonly at: Float64Array
  /** Index of the flow that asks. */
  readonly flow: Int32Array
  readonly cost: Float64Array
  /** Index of the name under which it asks. */
  readonly name: Int32Array
  /** Number of names. */
  readonly names: number
}

export function flowsOf({ crowds }: Pick<Scenario, 'crowds'>): Flow[] {
  return crowds.flatMap((crowd) => {
    const { flows, rate, zipf = 0, weight = 1 } = crowd
    const parts = Array.from({ length: flows }, (_, k) => (k + 1) ** -zipf)
    const all = parts.reduce((sum, part) => sum + part, 0)
    return parts.map((part) => ({ crowd, rate: (rate * flows * part) / all, weight }))
  })
}

/** The requests of a scenario. The same seed gives the same requests under every controller. */
export function arrivalsOf(scenario: Scenario, seed: number): Arrivals {
  const random = seededRandom(seed)
  const flows = flowsOf(scenario)
  const unordered: { at: number; flow: number; cost: number }[] = []
  for (const [flow, each] of flows.entries()) {
    const cost = (): number => (each.crowd.cost === undefined ? 1 : -each.crowd.cost * Math.log(1 - random()))
    for (const at of times(each, scenario.seconds, random)) unordered.push({ at, flow, cost: cost() })
  }
  unordered.sort((x, y) => x.at - y.at)
  const naming = new Naming(flows)
  return {
    flows,
    count: unordered.length,
    at: Float64Array.from(unordered, ({ at }) => at),
    flow: Int32Array.from(unordered, ({ flow }) => flow),
    cost: Float64Array.from(unordered, ({ cost }) => cost),
    name: Int32Array.from(unordered, ({ flow }) => naming.next(flow)),
    names: naming.count,
  }
}

/** The times of a flow's requests. */
function* times({ crowd, rate }: Flow, seconds: number, random: () => number): Generator<number> {
  const [from, to] = crowd.between ?? [0, seconds]
  const { on, off, apart = false } = crowd.bursts ?? { on: Number.POSITIVE_INFINITY, off: 0 }
  const shift = apart ? random() * (on + off) : 0
  const gap = (): number => (crowd.even === true ? 1 : -Math.log(1 - random())) / rate
  for (let at = from + (crowd.even === true ? random() / rate : gap()); at < Math.min(to, seconds); at += gap())
    if (on === Number.POSITIVE_INFINITY || (at - from + shift) % (on + off) < on) yield at
}

/** Names: a flow has its own index until it takes a new one. */
class Naming {
  readonly #flows: readonly Flow[]
  readonly #current: number[]
  readonly #asked: number[]
  count: number

  constructor(flows: readonly Flow[]) {
    this.#flows = flows
    this.#current = flows.map(({ crowd }, i) => (crowd.continues === true ? i - crowd.flows : i))
    this.#asked = flows.map(() => 0)
    this.count = flows.length
  }

  next(flow: number): number {
    const { renamedAfter } = this.#flows[flow]!.crowd
    const asked = this.#asked[flow]!++
    if (renamedAfter !== undefined && asked > 0 && asked % renamedAfter === 0) this.#current[flow] = this.count++
    return this.#current[flow]!
  }
}
