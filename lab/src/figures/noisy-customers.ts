import { seededRandom } from '@fairlead/core/testing'
import { quantile } from '../simulation/queue/index.js'
import { type Arrival, arrivalOrder, type Discipline, fairQueue } from '../simulation/sfq/index.js'
import type { Figure, Table } from './figure.js'
import { hashedLines } from './hashed-lines.js'
import { SEEDS, seedsOf } from './measure.js'
import { digits, mean, percent } from './numbers.js'
import { type Customer, plotCustomers } from './plots/customers.js'

/**
 * Brooker's comparison, customers of whom one is three times as loud, a single
 * hash beside the shortest of two queues beside ours. His post shows it without figures; the numbers here are our own.
 *
 * 10 slots of 100 ms (exponential), so 100 requests a second. 10 customers together ask for 5 % more: each of the nine
 * for 8.75/s, which is less than a tenth of what there is, the noisy one for 26.25/s. So nine should hardly wait.
 */
const CUSTOMERS = 10
const LOUDER = 3
const ASKED_PER_SECOND = 105
const WORK_MS = 100
const SECONDS = 300
const QUEUES = 16
/** As often as a queue allows. */
const PERTURB_EVERY_MS = 5_000
/** A period in which a customer's mean wait is longer than this is a bad one. */
const BAD_MS = 1_000

const SLOTS = 10
const MOST_WAIT_MS = 5_000

interface Way {
  readonly title: string
  make(seed: number): Discipline
}

const WAYS: readonly Way[] = [
  { title: 'one line for all', make: () => arrivalOrder(800) },
  { title: 'single hash', make: (seed) => hashedLines({ lines: QUEUES, hand: 1, seed, overflow: 'refuse' }) },
  { title: 'shortest of two', make: (seed) => hashedLines({ lines: QUEUES, hand: 2, seed, overflow: 'refuse' }) },
  { title: `${QUEUES} hashed queues`, make: (seed) => fairQueue({ queues: QUEUES, sparseFirst: false, seed }) },
  { title: 'per flow, sparse first (default)', make: () => fairQueue({}) },
]

export const noisyCustomers: Figure = {
  name: 'noisy-customers',
  file: 'sfq-noisy-customers',
  about: 'ten customers, one of them three times as loud',
  seeds: SEEDS,
  make(effort, tell) {
    const seconds = SECONDS * effort.part
    const results = WAYS.map(({ title, make }) => {
      tell(title)
      const runs = seedsOf(effort).map((seed) => serve(seconds, seed, make(seed)))
      return { title, customers: Array.from({ length: CUSTOMERS }, (_, i) => customerOf(runs, nameOf(i))) }
    })
    const drawn = results.filter(({ title }) => !title.endsWith('queues') && !title.startsWith('one line'))
    return {
      tables: [table(results)],
      pictures: { '': plotCustomers(drawn, Math.ceil((1_000 * seconds) / PERTURB_EVERY_MS)) },
      data: results,
    }
  },
}

function nameOf(index: number): string {
  return index === 0 ? 'noisy' : `customer-${index}`
}

/** Requests of a customer, their start times and their waits. */
interface Customers {
  readonly asked: ReadonlyMap<string, number>
  readonly started: ReadonlyMap<string, readonly { readonly firstMs: number; readonly waitedMs: number }[]>
}

function serve(seconds: number, seed: number, queue: Discipline): Customers {
  const random = seededRandom(seed)
  const exponential = (): number => -Math.log(1 - random())
  const asked = new Map(Array.from({ length: CUSTOMERS }, (_, i) => [nameOf(i), 0]))
  const started = new Map([...asked.keys()].map((flow) => [flow, [] as { firstMs: number; waitedMs: number }[]]))
  let [nowMs, perturbAtMs, busyUntil] = [0, PERTURB_EVERY_MS, [] as number[]]
  const isDead = ({ atMs }: Arrival): boolean => nowMs - atMs > MOST_WAIT_MS
  const fill = (): void => {
    busyUntil = busyUntil.filter((ms) => ms > nowMs)
    while (busyUntil.length < SLOTS) {
      const next = queue.dequeue(isDead)
      if (next === undefined) return
      busyUntil.push(nowMs + next.serviceMs)
      started.get(next.flow)!.push({ firstMs: next.atMs, waitedMs: nowMs - next.atMs })
    }
  }
  for (let atMs = 0; atMs < 1_000 * seconds; ) {
    atMs += (exponential() * 1_000) / ASKED_PER_SECOND
    for (let endMs = Math.min(...busyUntil); endMs <= atMs; endMs = Math.min(...busyUntil)) {
      nowMs = endMs
      fill()
    }
    nowMs = atMs
    if (nowMs >= perturbAtMs) {
      perturbAtMs += PERTURB_EVERY_MS
      queue.perturb?.()
    }
    // The noisy one is as likely as three others.
    const flow = nameOf(Math.max(0, Math.floor(random() * (CUSTOMERS - 1 + LOUDER)) - LOUDER + 1))
    asked.set(flow, asked.get(flow)! + 1)
    queue.enqueue({ flow, light: false, cost: 1, atMs, serviceMs: exponential() * WORK_MS })
    fill()
  }
  return { asked, started }
}

function customerOf(runs: readonly Customers[], flow: string): Customer {
  const waits = runs.flatMap(({ started }) => started.get(flow)!.map(({ waitedMs }) => waitedMs))
  const asked = runs.reduce((sum, run) => sum + run.asked.get(flow)!, 0)
  const periods = runs.flatMap(({ started }) => {
    const byPeriod = new Map<number, number[]>()
    for (const { firstMs, waitedMs } of started.get(flow)!) {
      const period = Math.floor(firstMs / PERTURB_EVERY_MS)
      byPeriod.set(period, [...(byPeriod.get(period) ?? []), waitedMs])
    }
    return [...byPeriod.values()].map(mean)
  })
  return {
    noisy: flow === nameOf(0),
    p50: quantile(waits, 0.5),
    p99: quantile(waits, 0.99),
    served: waits.length / asked,
    periods,
  }
}

function table(results: readonly { readonly title: string; readonly customers: readonly Customer[] }[]): Table {
  return {
    id: 'waits',
    title:
      'Waits in ms of the nine quiet customers and of the noisy one; bad: periods of 5 s in which a quiet customer ' +
      'waited for more than 1 s on the average',
    head: ['', 'quiet p50', 'p99', 'worst p99', 'bad, %', 'served, %', 'noisy p50', 'served, %'],
    rows: results.map(({ title, customers }) => {
      const quiet = customers.filter(({ noisy }) => !noisy)
      const noisy = customers.find((customer) => customer.noisy)!
      const periods = quiet.flatMap((customer) => customer.periods)
      return [
        title,
        digits(mean(quiet.map(({ p50 }) => p50))),
        digits(mean(quiet.map(({ p99 }) => p99))),
        digits(Math.max(...quiet.map(({ p99 }) => p99))),
        percent(periods.filter((ms) => ms > BAD_MS).length / periods.length),
        (100 * mean(quiet.map(({ served }) => served))).toFixed(1),
        digits(noisy.p50),
        (100 * noisy.served).toFixed(1),
      ]
    }),
  }
}
