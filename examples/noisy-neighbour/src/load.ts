import { setTimeout as sleep } from 'node:timers/promises'
import { HttpClient } from './client.js'
import type { Options } from './options.js'
import type { Arrival } from './schedule.js'
import type { Tally } from './tally.js'

/**
 * Sends every arrival when it is due, independent of earlier answers (open loop), and waits for all answers. Latency
 * counts from the due time, so that a late load generator hides nothing.
 */
export async function runLoad(url: string, arrivals: readonly Arrival[], tally: Tally): Promise<void> {
  const http = new HttpClient(url)
  const startMs = performance.now()
  const pending: Promise<void>[] = []
  for (const { atMs, client } of arrivals) {
    const earlyMs = atMs - (performance.now() - startMs)
    if (earlyMs > 0) await sleep(earlyMs)
    tally.asked(client, performance.now() - startMs - atMs)
    const answer = http.ask(tally.clients[client]!.name)
    pending.push(
      answer.then(({ status, atMs: answeredMs }) =>
        tally.answered(client, atMs, { status, atMs: answeredMs - startMs }),
      ),
    )
  }
  await Promise.all(pending)
  http.close()
}

const WARM_UP_ASKERS = 8
const WARM_UP_MS = 1_000
/**
 * Enough to keep the resource busy, and fewer than the pool turns away. A busy event loop accepts few new connections a
 * second, so the processor gets no more than it needs.
 */
const MEASURE_ASKERS = { pool: 50, cpu: 8 } as const
const MEASURE_MS = 2_000
/** Answers before that do not count: the queue has to form first. */
const SETTLE_MS = 300

/** Brings a new server to its working speed with a light load, so that no phase runs on cold code. */
export async function warmUp(url: string): Promise<void> {
  await askWithoutBreak(url, WARM_UP_ASKERS, 0, WARM_UP_MS)
}

/** Measured capacity of a warm server, in requests per second: its throughput in two seconds of full load. */
export async function measureCapacity(url: string, resource: Options['resource']): Promise<number> {
  const served = await askWithoutBreak(url, MEASURE_ASKERS[resource], SETTLE_MS, SETTLE_MS + MEASURE_MS)
  return served / (MEASURE_MS / 1_000)
}

/**
 * Each asker asks again as soon as it is answered (closed loop), until `untilMs`. Returns the number of requests served
 * from `fromMs` on. Throws if a request has no answer at all.
 */
async function askWithoutBreak(url: string, askers: number, fromMs: number, untilMs: number): Promise<number> {
  const http = new HttpClient(url)
  const startMs = performance.now()
  let served = 0
  const askOn = async (): Promise<void> => {
    for (;;) {
      const { status, atMs } = await http.ask('warm-up')
      if (status === 'lost') throw new Error(`no answer from ${url} while warming up`)
      if (atMs - startMs >= untilMs) return
      if (status === 200 && atMs - startMs >= fromMs) served++
    }
  }
  await Promise.all(Array.from({ length: askers }, askOn)).finally(() => http.close())
  return served
}
