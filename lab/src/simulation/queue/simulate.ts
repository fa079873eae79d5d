import type { Refusal } from '@fairlead/core'
import type { QueuePermit, RequestQueueOptions } from '@fairlead/core/queue'
import { RequestQueue } from '@fairlead/core/queue'
import { seededRandom, World } from '@fairlead/core/testing'
import { Heap } from '../capacity/heap.js'

/** Requests of one flow: Poisson arrivals from `fromMs` to `untilMs`. */
export interface Traffic {
  flow: string
  perSecond: number
  fromMs?: number
  untilMs?: number
  /** Slots per request. */
  width?: number
  /** Mean of its exponential work, in milliseconds. */
  workMs: number
  /** Time after which its clients give up, in milliseconds from their first try. Without it, never. */
  patienceMs?: number
  /** Number of retries of a refused client, each after the stated delay and up to half as much again. */
  returns?: number
}

export interface Scenario {
  seed: number
  seconds: number
  traffic: readonly Traffic[]
  options: Partial<RequestQueueOptions>
  /** Overrides the delay that the room states: time until a refused client returns, in milliseconds. */
  tellMs?: number
}

/** One client's request, from its first try on. */
export interface Story {
  readonly flow: string
  readonly width: number
  readonly firstMs: number
  tries: number
  /** Time of its first refusal, and the stated delay. */
  refusedMs: number | undefined
  toldMs: number
  reason: string | undefined
  /** Whether its second try was admitted; undefined if there was none, or it is still waiting. */
  secondAdmitted: boolean | undefined
  /** Time of its start, and the wait of its last try. */
  startedMs: number | undefined
  waitedMs: number
}

/** Runs clients against a waiting room, event by event, on a manual clock; returns the result of each. */
export async function simulate({ seed, seconds, traffic, options, tellMs }: Scenario): Promise<Story[]> {
  const random = seededRandom(seed)
  const world = new World()
  const { clock, after } = world
  const room = new RequestQueue({ concurrency: 10, clock, after, random: seededRandom(seed + 0.5), ...options })
  const events = new Heap<() => void>()
  const stories: Story[] = []
  const exponential = (mean: number): number => -mean * Math.log(1 - random())
  const at = (atMs: number, run: () => void): void => events.push(atMs, run)

  const end = (permit: QueuePermit, workMs: number): void => at(clock() + workMs, () => permit.finish('success'))
  const attempt = (story: Story, from: Traffic): void => {
    story.tries++
    const leaves = new AbortController()
    const { patienceMs } = from
    if (patienceMs !== undefined) at(story.firstMs + patienceMs, () => leaves.abort())
    const hear = (answer: QueuePermit | Refusal): void => {
      if (story.tries === 2) story.secondAdmitted = answer.admitted
      if (answer.admitted) {
        story.startedMs = clock()
        story.waitedMs = answer.waitedMs
        end(answer, exponential(from.workMs))
        return
      }
      const toldMs = tellMs ?? answer.retryAfterMs
      if (story.refusedMs === undefined) {
        story.refusedMs = clock()
        story.toldMs = toldMs
        story.reason = answer.reason
      }
      if (answer.reason === 'gone' || story.tries > (from.returns ?? 0)) return
      at(clock() + toldMs * (1 + random() / 2), () => attempt(story, from))
    }
    const request = { flow: from.flow, width: from.width ?? 1 }
    const answer = room.enter(patienceMs === undefined ? request : { ...request, signal: leaves.signal })
    if (answer instanceof Promise) void answer.then(hear)
    else hear(answer)
  }
  for (const from of traffic) {
    const untilMs = Math.min(from.untilMs ?? Number.POSITIVE_INFINITY, 1_000 * seconds)
    const arrive = (): void => {
      const story: Story = {
        flow: from.flow,
        width: from.width ?? 1,
        firstMs: clock(),
        tries: 0,
        refusedMs: undefined,
        toldMs: 0,
        reason: undefined,
        secondAdmitted: undefined,
        startedMs: undefined,
        waitedMs: 0,
      }
      stories.push(story)
      attempt(story, from)
      const nextMs = clock() + exponential(1_000 / from.perSecond)
      if (nextMs < untilMs) at(nextMs, arrive)
    }
    at((from.fromMs ?? 0) + exponential(1_000 / from.perSecond), arrive)
  }
  while (events.size > 0) {
    while (world.nextMs <= events.least) {
      world.advance(Math.max(0, world.nextMs - clock()))
      await heard()
    }
    world.stall(Math.max(0, events.least - clock()))
    events.pop()()
    await heard()
  }
  return stories
}

/** The value below which a share `part` of the values lies; NaN of none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((x, y) => x - y)
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN
}

async function heard(): Promise<void> {
  await Promise.resolve()
  await Promise.resolve()
  await Promise.resolve()
}
