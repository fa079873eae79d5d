import { FairQueue } from '@fairlead/core/queue'
import { seededRandom } from '@fairlead/core/testing'

/** Jobs of one key; all at once without `perSecond`. */
export interface Source {
  readonly account: string
  readonly key: string
  readonly jobs: number
  readonly perSecond?: number
}

export interface Job {
  readonly account: string
  readonly key: string
  readonly atMs: number
  readonly holdMs: number
}

/** Whose job is next? */
export interface JobQueue {
  add(job: Job): void
  next(): Job | undefined
}

const SLOTS = 4
const MEAN_HOLD_MS = 25

/** Whole milliseconds with this mean, at least one, as between independent arrivals. */
function wholeMs(random: () => number, meanMs: number): number {
  return Math.max(1, Math.round(-Math.log(1 - random()) * meanMs))
}

export function jobsOf(sources: readonly Source[], seed: number): readonly Job[] {
  const random = seededRandom(seed)
  return sources
    .flatMap(({ account, key, jobs, perSecond }) => {
      let atMs = 0
      return Array.from({ length: jobs }, (_, i) => {
        if (perSecond !== undefined && i > 0) atMs += wholeMs(random, 1_000 / perSecond)
        return { account, key, atMs, holdMs: wholeMs(random, MEAN_HOLD_MS) }
      })
    })
    .sort((a, b) => a.atMs - b.atMs)
}

/** Mean wait of a key's jobs, and when the last job of all began, in milliseconds. */
export function runJobs(jobs: readonly Job[], queue: JobQueue, key: string): { waitMs: number; lastMs: number } {
  const waits: number[] = []
  let ends: number[] = []
  let [nowMs, arrived, begun, lastMs] = [0, 0, 0, 0]
  while (begun < jobs.length) {
    while (arrived < jobs.length && jobs[arrived]!.atMs <= nowMs) queue.add(jobs[arrived++]!)
    ends = ends.filter((endMs) => endMs > nowMs)
    while (ends.length < SLOTS) {
      const job = queue.next()
      if (job === undefined) break
      if (job.key === key) waits.push(nowMs - job.atMs)
      ends.push(nowMs + job.holdMs)
      lastMs = nowMs
      begun++
    }
    nowMs = Math.min(...ends, jobs[arrived]?.atMs ?? Number.POSITIVE_INFINITY)
  }
  return { waitMs: waits.reduce((sum, wait) => sum + wait, 0) / waits.length, lastMs }
}

export function oldestFirst(): JobQueue {
  const line: Job[] = []
  return { add: (job) => void line.push(job), next: () => line.shift() }
}

/** Some keys always first, in order of age: no order without interruptions can serve them sooner. */
export function alwaysFirst(keys: readonly string[]): JobQueue {
  const [first, rest] = [oldestFirst(), oldestFirst()]
  return { add: (job) => (keys.includes(job.key) ? first : rest).add(job), next: () => first.next() ?? rest.next() }
}

/** Our queue. Its flows are the keys or, of accounts, paths. */
export function ours(flowOf: (job: Job) => string | readonly string[]): JobQueue {
  const queue = new FairQueue<Job>({ perFlowLimit: 100_000, maxWaiting: 100_000 })
  return { add: (job) => void queue.enqueue(flowOf(job), job), next: () => queue.dequeue()?.item }
}
