import { quantile, runs, type Story } from '../simulation/queue/index.js'
import type { Figure, Table } from './figure.js'
import { SEEDS, seedsOf } from './measure.js'
import { digits, mean, percent } from './numbers.js'
import { type Customer, plotCustomers } from './plots/customers.js'

/**
 * Brooker's comparison, run on the waiting room that ships: customers of whom one is three times as loud, a single
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
/** As often as the room allows. */
const PERTURB_EVERY_MS = 5_000
/** A period in which a customer waits for longer than this on the average is a bad one. */
const BAD_MS = 1_000

const HASHED = { queues: QUEUES, sparseFirst: false } as const
const WAYS = [
  {
    title: 'one line for all',
    options: { queues: 1, choose: 'first', inside: 'arrival', perFlowLimit: 800, sparseFirst: false },
  },
  { title: 'single hash', options: { ...HASHED, hand: 1, choose: 'first', inside: 'arrival' } },
  { title: 'shortest of two', options: { ...HASHED, hand: 2, choose: 'shortest', inside: 'arrival' } },
  { title: 'foreign of two, turns', options: { ...HASHED, hand: 2 } },
  { title: 'per flow, sparse first (default)', options: {} },
] as const

export const noisyCustomers: Figure = {
  name: 'noisy-customers',
  file: 'sfq-noisy-customers',
  about: 'ten customers, one of them three times as loud',
  seeds: SEEDS,
  async make(effort, tell) {
    const seconds = SECONDS * effort.part
    const quietPerSecond = ASKED_PER_SECOND / (CUSTOMERS - 1 + LOUDER)
    const traffic = Array.from({ length: CUSTOMERS }, (_, i) => ({
      flow: nameOf(i),
      perSecond: i === 0 ? LOUDER * quietPerSecond : quietPerSecond,
      workMs: WORK_MS,
    }))
    const results: { title: string; customers: Customer[] }[] = []
    for (const { title, options } of WAYS) {
      tell(title)
      const room = { ...options, maxWaitMs: 5_000, perturbEveryMs: PERTURB_EVERY_MS }
      const stories = await runs({ seconds, traffic, options: room }, seedsOf(effort))
      results.push({ title, customers: traffic.map(({ flow }, i) => customerOf(stories, flow, i === 0)) })
    }
    const drawn = results.filter(({ title }) => !title.startsWith('foreign') && !title.startsWith('one line'))
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

function customerOf(stories: readonly Story[], flow: string, noisy: boolean): Customer {
  const own = stories.filter((story) => story.flow === flow)
  const started = own.filter(({ startedMs }) => startedMs !== undefined)
  const waits = started.map(({ waitedMs }) => waitedMs)
  // Seeds come one after the other, and time starts anew with each.
  const periods = new Map<string, number[]>()
  let seed = 0
  let lastMs = 0
  for (const { firstMs, waitedMs } of started) {
    if (firstMs < lastMs) seed++
    lastMs = firstMs
    const key = `${seed}:${Math.floor(firstMs / PERTURB_EVERY_MS)}`
    periods.set(key, [...(periods.get(key) ?? []), waitedMs])
  }
  return {
    noisy,
    p50: quantile(waits, 0.5),
    p99: quantile(waits, 0.99),
    served: started.length / own.length,
    periods: [...periods.values()].map(mean),
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
