import { expect, it } from 'vitest'
import type { Decision } from '../admission/decision.js'
import { createGate } from '../create-gate.js'
import { eventLoopDelaySignal, heapSignal, type Machine, memorySignal } from '../node/index.js'
import { manualClock } from '../testing/manual-clock.js'
import { seededRandom } from '../testing/seeded-random.js'
import { loadShedder } from './load-shedder.js'

const LIMIT_BYTES = 1e9
const OVERLOAD_MS = 30_000
const END_MS = 90_000
/** Part of what a request holds that is on the heap. */
const HEAP_PART = 0.9
/** What is promised. */
const RECOVERY_MS = 20_000

/** The loop is blocked last: it would keep requests from filling the memory. */
const BLOCKED_MS = 29_300

/** A process whose memory, heap and event loop the test fills. */
class Process {
  readonly clock = manualClock()
  readonly #timers = new Set<{ atMs: number; fn: () => void }>()
  /** What running requests hold, as a share of the memory, and of the heap. */
  held = 0.3
  /** What something else in the process holds, of both. */
  others = 0
  /** The allocator keeps what it has had. */
  #resident = 0.3
  readonly #keeps: boolean
  /** Nothing collects unless it is asked to. */
  #garbage = 0.05
  #activeMs = 0
  #collected: (() => void)[] = []
  #asked = false

  readonly machine: Machine = {
    readFile: () => undefined,
    physicalBytes: () => LIMIT_BYTES,
    constrainedBytes: () => undefined,
    memoryUsage: () => ({ rss: this.#touched() * LIMIT_BYTES, heapTotal: 0, heapUsed: 0, arrayBuffers: 0 }),
    collect: () => {
      this.#asked = true
    },
    watch: (ended) => this.#watch(ended),
  }

  readonly signals = [
    memorySignal({ machine: this.machine }),
    heapSignal({
      heap: {
        usedBytes: () => this.#used * LIMIT_BYTES,
        pageBytes: () => this.#used * LIMIT_BYTES,
        limitBytes: () => LIMIT_BYTES,
        collect: () => {
          this.#asked = true
        },
        watch: (ended) => this.#watch(ended),
      },
    }),
    eventLoopDelaySignal({
      after: (ms, fn) => {
        const timer = { atMs: this.clock() + ms, fn }
        this.#timers.add(timer)
        return () => this.#timers.delete(timer)
      },
      activeMs: () => this.#activeMs,
      waitedMs: () => 0,
      throttledMs: () => 0,
    }),
  ]

  constructor(keeps = true) {
    this.#keeps = keeps
  }

  get #used(): number {
    return Math.min(0.99, HEAP_PART * this.held + this.others + this.#garbage)
  }

  #watch(ended: () => void): () => void {
    this.#collected.push(ended)
    return () => {
      this.#collected = this.#collected.filter((each) => each !== ended)
    }
  }

  take(size: number): void {
    this.held += size
    this.#touched()
  }

  #touched(): number {
    const kept = this.#keeps ? this.#resident : 0
    this.#resident = Math.min(0.99, Math.max(kept, this.held + this.others))
    return this.#resident
  }

  give(size: number): void {
    this.held -= size
    this.#garbage += HEAP_PART * size
  }

  /** A turn of the loop of this length, of which it is busy for a part. */
  turn(ms: number, busyMs: number): void {
    this.clock.advance(ms)
    this.#activeMs += busyMs
    for (const timer of [...this.#timers].filter(({ atMs }) => atMs <= this.clock())) {
      this.#timers.delete(timer)
      timer.fn()
    }
    if (!this.#asked) return
    this.#asked = false
    this.#garbage = 0
    for (const ended of this.#collected) ended()
  }
}

it('everything is admitted twenty seconds after memory, heap and event loop were short together, behind FAIR', () => {
  const process = new Process()
  const { clock, signals } = process
  const random = seededRandom(1)
  const shed = loadShedder({ signals })
  const gate = createGate({ clock, random: seededRandom(2), shed })
  const running: { endsAtMs: number; size: number; decision: Decision }[] = []
  const seen = new Set<string>()
  let engaged = false
  let refusedBefore = 0
  const late: Decision[] = []
  while (clock() < END_MS) {
    const isOver = clock() >= OVERLOAD_MS
    const isBlocked = clock() >= BLOCKED_MS && !isOver
    const turnMs = isBlocked ? 100 : 10
    process.turn(turnMs, isBlocked ? turnMs : 1)
    for (let i = running.length - 1; i >= 0; i--)
      if (running[i]!.endsAtMs <= clock()) {
        const [{ size, decision }] = running.splice(i, 1) as [(typeof running)[number]]
        process.give(size)
        if (decision.admitted) decision.finish('success')
      }
    const expected = ((isOver ? 20 : 800) * turnMs) / 1_000
    for (let left = expected; left > 0; left--) {
      if (random() >= left) continue
      const flow = `flow-${Math.floor(random() * 20)}`
      const decision = gate.admit({ flow }) as Decision
      if (decision.admitted) {
        const size = 0.004
        process.take(size)
        running.push({ endsAtMs: clock() - 1_000 * Math.log(1 - random()), size, decision })
      } else if (!isOver) refusedBefore++
      if (clock() >= OVERLOAD_MS + RECOVERY_MS) late.push(decision)
    }
    if (isOver || clock() < OVERLOAD_MS - 1_000) continue
    const { fair, shed } = gate.snapshot().stages as unknown as {
      fair: { engaged: boolean }
      shed: { signals: { name: string; probability: number }[] }
    }
    engaged ||= fair.engaged
    for (const { name, probability } of shed.signals) if (probability > 0.1) seen.add(name)
  }
  expect(refusedBefore).toBeGreaterThan(5_000)
  expect([...seen].sort()).toEqual(['event-loop-delay', 'heap', 'memory'])
  expect(engaged).toBe(true)
  expect(late.length).toBeGreaterThan(600)
  const refused = late.flatMap((decision) => (decision.admitted ? [] : decision.stage))
  expect(refused).not.toContain('fair')
  // The resident set never falls: of what it keeps, a part that no request held is found out over minutes.
  expect(refused.length / late.length).toBeLessThan(0.005)
})

it.each([
  ['memory', 'returns it to the system', false, 0.005],
  ['memory', 'keeps it resident', true, 0.05],
  // Garbage counts until the engine collects it, and it is asked to only once requests are refused.
  ['heap', 'returns it to the system', false, 0.005],
] as const)(
  'hardly any request is refused by %s twenty seconds after something else freed what it held, and %s',
  (name, _, keeps, most) => {
    const process = new Process(keeps)
    const { clock } = process
    const random = seededRandom(1)
    const signals = process.signals.filter((signal) => signal.name === name)
    const gate = createGate({ clock, random: seededRandom(2), fair: false, shed: loadShedder({ signals }) })
    const running: { endsAtMs: number; decision: Decision }[] = []
    const size = 0.0007
    let refusedBefore = 0
    const late: Decision[] = []
    while (clock() < END_MS) {
      const isOver = clock() >= OVERLOAD_MS
      process.turn(10, 1)
      // In four large pieces, which may look like the size of requests.
      process.others = isOver ? 0 : 0.16 * Math.min(4, Math.floor(clock() / 2_000))
      while (running.length > 0 && running[0]!.endsAtMs <= clock()) {
        process.give(size)
        const { decision } = running.shift()!
        if (decision.admitted) decision.finish('success')
      }
      if (random() >= 0.2) continue
      const decision = gate.admit({ flow: 'one' }) as Decision
      if (decision.admitted) {
        process.take(size)
        running.push({ endsAtMs: clock() + 1_000, decision })
      } else if (!isOver) refusedBefore++
      if (clock() >= OVERLOAD_MS + RECOVERY_MS) late.push(decision)
    }
    expect(refusedBefore).toBeGreaterThan(100)
    expect(late.length).toBeGreaterThan(600)
    expect(late.filter(({ admitted }) => !admitted).length / late.length).toBeLessThan(most)
  },
)

it.each([
  ['50 every ten seconds', 50, 10_000],
  ['20 every five seconds', 20, 5_000],
])('hardly any is refused by memory that stays resident, if requests come in bursts: %s', (_, requests, everyMs) => {
  const process = new Process()
  const { clock } = process
  const signals = process.signals.filter(({ name }) => name === 'memory')
  const gate = createGate({ clock, random: seededRandom(2), fair: false, shed: loadShedder({ signals }) })
  const size = 0.0007
  const running: { endsAtMs: number; decision: Decision }[] = []
  const refused: number[] = []
  while (clock() < END_MS) {
    process.turn(10, 1)
    process.others = clock() < OVERLOAD_MS ? 0.57 : 0
    while (running.length > 0 && running[0]!.endsAtMs <= clock()) {
      process.give(size)
      const { decision } = running.shift()!
      if (decision.admitted) decision.finish('success')
    }
    if (clock() % everyMs >= 10) continue
    refused.push(0)
    for (let i = 0; i < requests; i++) {
      const decision = gate.admit({ flow: 'one' }) as Decision
      if (decision.admitted) {
        process.take(size)
        running.push({ endsAtMs: clock() + 1_000, decision })
      } else refused[refused.length - 1]!++
    }
  }
  const bursts = (fromMs: number, untilMs: number): number =>
    refused.slice(fromMs / everyMs, untilMs / everyMs).reduce((sum, one) => sum + one / requests, 0)
  expect(bursts(0, OVERLOAD_MS)).toBeGreaterThan(1)
  expect(bursts(OVERLOAD_MS + RECOVERY_MS, END_MS)).toBeLessThan(0.2)
})
