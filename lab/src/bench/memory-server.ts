/**
 * Started by `memory.ts`: requests that hold memory for a second, admitted by a guard. Reports its counts, and ends.
 */
import { performance } from 'node:perf_hooks'
import { createGate, loadShedder } from '@fairlead/core'
import { defaultSignals } from '@fairlead/core/node'
import underPressure from '@fastify/under-pressure'
import fastify from 'fastify'
import overloadProtection from 'overload-protection'

export interface Plan {
  guard: string
  kind: string
  meanMb: number
  roomMb: number
  inContainer: boolean
  seed: number
  phases: readonly { seconds: number; perSecond: number }[]
  /**
   * A turn of the event loop counts as 5 ms, regardless of its duration, so that no burst follows when the machine
   * stalls. By the clock otherwise. @default false
   */
  byTurns?: boolean
}

/** Of one phase. */
export interface Counts {
  servedPerSecond: number
  refusedShare: number
  /** Requests refused, by the part that refused them. */
  refusedBy: Readonly<Record<string, number>>
}

/** Admits a request and returns the function to call at its end, or the part that refused it. */
type Guard = (flow: string) => Answer | Promise<Answer>
type Answer = (() => void) | string

const HOLD_MS = 1_000
const TURN_MS = 5
const FLOWS = 20
/** Setting of the peers: their advice is a share of the memory. */
const PEER_SHARE = 0.8

/** Allocates a number of bytes and returns the value that holds them. */
const KINDS: Readonly<Record<string, (bytes: number) => unknown>> = {
  array: (bytes) => new Array(bytes >> 3).fill(1.5),
  objects: (bytes) => Array.from({ length: bytes / 56 }, (_, i) => ({ a: i, b: i + 0.5, c: null })),
  strings: (bytes) => Array.from({ length: bytes >> 16 }, () => Buffer.alloc(65_536, 'y').toString('latin1')),
  buffer: (bytes) => Buffer.alloc(bytes, 1),
  'small buffers': (bytes) => Array.from({ length: bytes >> 13 }, () => Buffer.alloc(8_192, 1)),
}

async function guardOf({ guard, roomMb, inContainer }: Plan): Promise<Guard> {
  const bytes = PEER_SHARE * roomMb * 2 ** 20
  if (guard === 'none') return () => () => {}
  if (guard === 'fairlead') {
    const gate = createGate({ shed: loadShedder({ signals: defaultSignals() }) })
    return async (flow) => {
      const decision = await gate.admit({ flow })
      return decision.admitted ? () => decision.finish('success') : `${decision.detail?.['signal'] ?? decision.stage}`
    }
  }
  if (guard === 'overload-protection') {
    const limit = inContainer ? { maxRssBytes: bytes } : { maxHeapUsedBytes: bytes }
    const protect = overloadProtection('http', { production: true, ...limit })
    return () => (protect.overload ? guard : () => {})
  }
  if (guard === 'under-pressure') {
    const server = fastify()
    await server.register(underPressure, inContainer ? { maxRssBytes: bytes } : { maxHeapUsedBytes: bytes })
    await server.ready()
    return () => (server.isUnderPressure() ? guard : () => {})
  }
  const most = Number(/^at most (\d+)$/.exec(guard)?.[1])
  if (!(most > 0)) throw new RangeError(`no such guard: ${guard}`)
  let running = 0
  return () => {
    if (running >= most) return guard
    running++
    return () => {
      running--
    }
  }
}

/** A small generator of random numbers (mulberry32), so that runs can be repeated. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

async function serve(plan: Plan): Promise<void> {
  const random = seeded(plan.seed)
  const guard = await guardOf(plan)
  const hold = KINDS[plan.kind]
  if (hold === undefined) throw new RangeError(`no such kind: ${plan.kind}`)
  let turns = 0
  const clock = (): number => (plan.byTurns === true ? turns * TURN_MS : performance.now())
  /** Running requests, the first to end first. */
  const running: { untilMs: number; end: () => void }[] = []
  for (const { seconds, perSecond } of plan.phases) {
    let asked = 0
    let served = 0
    const refusedBy: Record<string, number> = {}
    const startMs = clock()
    const endMs = startMs + 1_000 * seconds
    const request = async (): Promise<void> => {
      asked++
      const answer = await guard(`flow-${Math.floor(random() * FLOWS)}`)
      if (typeof answer === 'string') {
        refusedBy[answer] = (refusedBy[answer] ?? 0) + 1
        return
      }
      const held = hold(Math.floor((0.4 + 1.2 * random()) * plan.meanMb * 2 ** 20))
      const end = (): void => {
        // Keeps the value reachable until here.
        if (held !== undefined) served++
        answer()
      }
      running.push({ untilMs: clock() + HOLD_MS, end })
    }
    const gapMs = (): number => (-Math.log(1 - random()) * 1_000) / perSecond
    let nextMs = startMs
    while (clock() < endMs) {
      while (running.length > 0 && running[0]!.untilMs <= clock()) running.shift()!.end()
      for (; nextMs <= clock(); nextMs += gapMs()) void request()
      await new Promise((resolve) => setTimeout(resolve, TURN_MS))
      turns++
    }
    const refused = Object.values(refusedBy).reduce((sum, one) => sum + one, 0)
    const counts: Counts = { servedPerSecond: served / seconds, refusedShare: refused / asked, refusedBy }
    process.send?.(counts)
  }
}

process.once('message', async (plan: Plan) => {
  await serve(plan)
  process.exit(0)
})
