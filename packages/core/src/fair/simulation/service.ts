import type { Decision, Permit } from '../../admission/decision.js'
import type { Gate } from '../../admission/gate.js'
import { refuse } from '../../admission/refusal.js'
import type { Hold, Stage } from '../../admission/stage.js'
import { createGate } from '../../create-gate.js'
import { manualClock } from '../../testing/manual-clock.js'
import { seededRandom } from '../../testing/seeded-random.js'
import type { FairOptions } from '../options.js'

/** A service that shares one token bucket among its flows, behind a gate. */
export interface Service {
  /** Requests per second of each flow, at a time in seconds. Poisson. */
  ratesAt: (seconds: number) => readonly number[]
  /** Most that all flows together ask per second, at any time. */
  mostAsked: number
  capacityAt: (seconds: number) => number
  burst: number
  seconds: number
  fair: FairOptions | false
  /** Instead of the bucket: so many workers, busy for `capacityAt` requests a second together. */
  workers?: number
  /** @default flow-0, flow-1 and so on */
  nameOf?: (flow: number) => string
  /**
   * Who says that the bucket is empty: the handler, by its outcome, or a later stage, by refusing. @default 'handler'
   */
  told?: 'handler' | 'stage'
  /** Chance that a request of a flow fails whatever there is, at a time in seconds. @default 0 */
  failsAt?: (flow: number, seconds: number) => number
  /** How late outcomes come, in seconds. @default 0 */
  delay?: number
  /** And by up to so many seconds more, so that they overtake each other. @default 0 */
  spread?: number
  /** Share of outcomes that never come. @default 0 */
  lost?: number
  /** How the gate's clock reads at a time, in milliseconds. @default as it is */
  clockAt?: (ms: number) => number
  /** Stages between FAIR and the bucket. */
  stages?: readonly Stage[]
  costOf?: (flow: number) => number
}

/** What became of the requests of each flow, in each second. */
export class Tally {
  readonly asked: number[][]
  readonly served: number[][]
  readonly refused: number[][]
  failed = 0

  constructor(flows: number, seconds: number) {
    const zeros = (): number[][] => Array.from({ length: flows }, () => new Array<number>(Math.ceil(seconds)).fill(0))
    this.asked = zeros()
    this.served = zeros()
    this.refused = zeros()
  }

  /** Served of asked, of some flows, from one second to another. */
  share(flows: readonly number[], from: number, to: number): number {
    return sum(this.served, flows, from, to) / sum(this.asked, flows, from, to)
  }

  total(what: 'asked' | 'served' | 'refused', flows: readonly number[], from: number, to: number): number {
    return sum(this[what], flows, from, to)
  }
}

function sum(counts: readonly (readonly number[])[], flows: readonly number[], from: number, to: number): number {
  let total = 0
  for (const flow of flows) for (let second = from; second < to; second++) total += counts[flow]![second]!
  return total
}

/** Runs a service; the tally counts cost. */
export function runService(service: Service, seed: number): { tally: Tally; gate: Gate } {
  const {
    nameOf = (flow: number) => `flow-${flow}`,
    workers,
    failsAt,
    delay = 0,
    spread = 0,
    lost = 0,
    clockAt = (ms: number) => ms,
    costOf = () => 1,
    stages = [],
  } = service
  const random = seededRandom(seed)
  const clock = manualClock()
  const tally = new Tally(service.ratesAt(0).length, service.seconds)
  let tokens = service.burst
  let now = 0
  let busy = 0
  const take = (cost: number): boolean => {
    if (workers !== undefined) return busy < workers && busy++ >= 0
    if (tokens < cost) return false
    tokens -= cost
    return true
  }
  const idle: Hold = { finish: () => {}, undo: () => {} }
  const pool: Stage = {
    name: 'pool',
    admit: ({ cost }) => (take(cost) ? idle : refuse('pool', 'empty', true, 1_000)),
  }
  const gate = createGate({
    clock: () => clockAt(clock()),
    random: seededRandom(seed + 1_000),
    fair: service.fair,
    stages: service.told === 'stage' ? [...stages, pool] : stages,
  })
  const late: { at: number; end: () => void }[] = []
  while (true) {
    const gap = -Math.log(1 - random()) / service.mostAsked
    const next = now + gap
    while (late.length > 0 && late[0]!.at <= next) {
      const { at, end } = late.shift()!
      clock.advance(at * 1000 - clock())
      end()
    }
    clock.advance(next * 1000 - clock())
    if (next >= service.seconds) return { tally, gate }
    tokens = Math.min(service.burst, tokens + service.capacityAt(now) * gap)
    now = next
    const rates = service.ratesAt(now)
    let pick = random() * service.mostAsked
    const flow = rates.findIndex((rate) => {
      pick -= rate
      return pick < 0
    })
    if (flow < 0) continue
    const cost = costOf(flow)
    const second = Math.floor(now)
    tally.asked[flow]![second]! += cost
    const decision = gate.admit({ flow: nameOf(flow), cost }) as Decision
    if (!decision.admitted) {
      if (decision.stage === 'fair') tally.refused[flow]![second]! += cost
      else if (decision.stage === 'pool') tally.failed += cost
      continue
    }
    const fails = failsAt !== undefined && random() < failsAt(flow, now)
    const served = !fails && (service.told === 'stage' || take(cost))
    if (served) tally.served[flow]![second]! += cost
    else tally.failed += cost
    if (lost > 0 && random() < lost) continue
    const end = (): void => {
      if (served) busy--
      ;(decision as Permit).finish(served ? 'success' : 'failure')
    }
    const held = workers === undefined || !served ? 0 : (-Math.log(1 - random()) * workers) / service.capacityAt(now)
    const after = delay + held + (spread > 0 ? spread * random() : 0)
    if (after === 0) end()
    else {
      late.push({ at: now + after, end })
      if (held + spread > 0) late.sort((x, y) => x.at - y.at)
    }
  }
}
