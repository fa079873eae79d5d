import { createGate, type Decision, type Gate } from '@fairlead/core'
import { fixed, requestQueue } from '@fairlead/core/queue'
import { seededRandom, World } from '@fairlead/core/testing'
import { type Frame, OUTCOMES, RECORDED, type RecordFrame } from '../frame.js'
import { servedBy, sum } from '../views/view.js'
import { Watch } from '../watch.js'

/** The recorded requests and their outcomes, in order of arrival. */
export interface Recording {
  readonly rows: readonly Row[]
  /** The flows' weights. */
  readonly weights: ReadonlyMap<string, number>
  /** Requests missing from the recording. */
  readonly dropped: number
}

interface Row {
  readonly flow: string
  readonly atMs: number
  readonly cost: number
  readonly outcome: (typeof OUTCOMES)[number]
  readonly durationMs: number
}

/** The conditions of a replay, changed or as recorded. */
export interface ReplayTerms {
  /** `fair`: refuses by FAIR; `queue`: waits in fair turns; `none`: admits everything, and the resource decides. */
  readonly rule: 'fair' | 'queue' | 'none'
  /** The resource's capacity per second, in units of cost; with a queue: slots, of which a request takes one. */
  readonly capacity: number
  /** Longest wait of requests in the queue, in milliseconds. */
  readonly maxWaitMs: number
  readonly weights: ReadonlyMap<string, number>
  /** Seed of the random draws: the moments at which FAIR looks, and the order of short and long requests. @default 0 */
  readonly seed?: number
}

/** Most requests in a replay, the latest ones: they take some seconds of a browser's time. */
const MOST_ROWS = 300_000
/** Part of the recording that FAIR is shown beforehand if the shortage lasted from the start, in milliseconds. */
const RUN_IN_MS = 10_000
/**
 * Requests of seconds without losses that suffice to show the duration of a request alone; and most that run at once in
 * a replay.
 */
const LEAST_CALM = 100
const MOST_AT_ONCE = 64
/**
 * Rounds in which capacity and seed are fitted, and their total of requests: random draws matter less in long
 * recordings.
 */
const MOST_FITS = 16
const FITTED_ROWS = 1_200_000
/** Tolerances of the fit, in total and for each heavy flow. */
const FITTED = 0.004
const CLOSE = 0.01
/** Share of the total service from which on a flow is heavy. */
const GOOD_PART = 0.1

export function recordingOf(records: readonly RecordFrame[]): Recording {
  const rows: Row[] = []
  const weights = new Map<string, number>()
  for (const { names, weights: given, rows: numbers } of records) {
    names.forEach((name, i) => void weights.set(name, given[i] ?? 1))
    for (let i = 0; i + RECORDED <= numbers.length; i += RECORDED) {
      const [name = 0, atMs = 0, cost = 1, outcome = 0, durationMs = 0] = numbers.slice(i, i + RECORDED)
      rows.push({ flow: names[name] ?? '?', atMs, cost, outcome: OUTCOMES[outcome] ?? 'ignored', durationMs })
    }
  }
  rows.sort((a, b) => a.atMs - b.atMs)
  return { rows: rows.slice(-MOST_ROWS), weights, dropped: sum(records, ({ dropped }) => dropped) }
}

/**
 * The terms of the recording itself: with a queue its slots; otherwise the capacity with which a replay serves as much
 * as was served, and the seed that fits best, of a few: FAIR learns at random moments, which shows within a minute or
 * two. Nothing else is fitted: the classes decide how much each flow gets.
 */
export async function termsAsTheyWere(recording: Recording, frames: readonly Frame[]): Promise<ReplayTerms> {
  const { weights } = recording
  const queue = frames.findLast((frame) => frame.queue !== null)?.queue
  const waits = frames.flatMap(({ refusals }) => refusals.filter(({ reason }) => reason === 'expired'))
  const expiredMs = Math.max(0, ...waits.map(({ detail }) => Number(detail['waitedMs']) || 0))
  const maxWaitMs = expiredMs > 0 ? expiredMs : 10_000
  const limits = frames.flatMap((frame) => frame.queue?.capacity?.limit ?? [])
  if (queue && limits.length > 0)
    return {
      rule: 'queue',
      capacity: Math.max(1, Math.round(sum(limits, (each) => each) / limits.length)),
      maxWaitMs,
      weights,
    }
  const rule: ReplayTerms['rule'] = frames.some(({ fair }) => fair !== null) ? 'fair' : 'none'
  const short = frames.filter(({ fair, failed }) => fair?.engaged || failed > 0)
  const seconds = sum(short, (frame) => frame.seconds)
  const peak = Math.max(1, ...frames.map(({ served, seconds: length }) => served / length))
  // Never short: the capacity was at least this much.
  if (seconds < 3) return { rule, capacity: 1.5 * peak, maxWaitMs, weights }
  const was = servedBy(frames)
  const asked = { rule, maxWaitMs, weights }
  const rates = short.map(({ served, seconds: length }) => served / length).sort((a, b) => a - b)
  let terms: ReplayTerms = { ...asked, capacity: Math.max(1, quantile(rates, 0.5)!) }
  let best = { terms, apart: Number.POSITIVE_INFINITY }
  const rounds = Math.min(MOST_FITS, Math.ceil(FITTED_ROWS / recording.rows.length))
  for (let seed = 0; seed < rounds && best.apart > CLOSE; seed++) {
    terms = { ...terms, seed }
    const served = servedBy(await replay(recording, terms))
    const apart = Math.max(...heaviest(was).map((flow) => apartFrom(was, served, flow)))
    if (apart < best.apart) best = { terms, apart }
    if (apartFrom(was, served, '') > FITTED)
      terms = { ...terms, capacity: (terms.capacity * was.get('')!) / Math.max(1e-9, served.get('')!) }
  }
  return best.terms
}

/** The total, and the flows that were served a large part of it. */
function heaviest(served: ReadonlyMap<string, number>): string[] {
  const all = served.get('')!
  return [...served].filter(([, own]) => own > GOOD_PART * all).map(([flow]) => flow)
}

/** The relative difference in what a flow was served. */
function apartFrom(was: ReadonlyMap<string, number>, served: ReadonlyMap<string, number>, flow: string): number {
  return Math.abs((served.get(flow) ?? 0) / Math.max(1e-9, was.get(flow)!) - 1)
}

/** Runs the recording through a real gate, on a clock of its own. One frame per second. */
export async function replay(
  recording: Recording,
  terms: ReplayTerms,
  onProgress: (part: number) => void = () => {},
): Promise<Frame[]> {
  const { rows } = recording
  const first = rows[0]
  const last = rows.at(-1)
  if (first === undefined || last === undefined) return []
  const world = new World()
  world.clock.advance(first.atMs - RUN_IN_MS - 1)
  const gate = gateOf(terms, world)
  const lengths = new Lengths(rows)
  const resource = terms.rule === 'queue' ? undefined : new Resource(terms.capacity, lengths, terms.seed ?? 0)
  const ask = (row: Row): void => {
    const finish = (decision: Decision): void => {
      if (!decision.admitted) return
      const nowMs = world.clock()
      const delayMs = resource === undefined ? lengths.of(row) : resource.take(row.cost, nowMs)
      // A request that failed without a shortage would fail again.
      const outcome = resource === undefined && row.outcome === 'failure' ? 'failure' : 'success'
      if (delayMs === undefined) decision.finish('failure')
      else world.after(delayMs, () => decision.finish(outcome))
    }
    const decision = gate.admit({ flow: row.flow, cost: row.cost })
    if (decision instanceof Promise) void decision.then(finish)
    else finish(decision)
  }
  const startsShort = rows.slice(0, 200).some(({ outcome }) => outcome === 'refused')
  if (startsShort && terms.rule === 'fair')
    for (const row of rows) {
      if (row.atMs - first.atMs >= RUN_IN_MS) break
      await moveTo(world, row.atMs - RUN_IN_MS)
      ask(row)
    }
  await moveTo(world, first.atMs - 1)
  const { clock } = world
  const watch = new Watch(gate, {
    clock,
    timeOfDay: clock,
    random: () => 0,
    label: (flow) => flow,
    isHashed: false,
    process: 'replay',
  })
  const frames: Frame[] = []
  let frameMs = first.atMs - 1 + 1_000
  for (const row of rows) {
    for (; frameMs <= row.atMs; frameMs += 1_000) {
      await moveTo(world, frameMs)
      frames.push(watch.frame())
      onProgress((frameMs - first.atMs) / (last.atMs - first.atMs))
    }
    await moveTo(world, row.atMs)
    ask(row)
  }
  await moveTo(world, frameMs)
  frames.push(watch.frame())
  watch.stop()
  gate.close()
  return frames
}

function gateOf({ rule, capacity, maxWaitMs, weights, seed = 0 }: ReplayTerms, { clock, after }: World): Gate {
  return createGate({
    name: 'replay',
    clock,
    after,
    random: seededRandom(seed),
    fair: rule === 'fair' ? {} : false,
    weightOf: (flow) => weights.get(flow) ?? 1,
    ...(rule === 'queue' && {
      queue: requestQueue({ concurrency: fixed(Math.max(1, Math.round(capacity))), maxWaitMs }),
    }),
  })
}

/** Fires timers that are due on the way, and lets promises settle several times at each step. */
async function moveTo(world: World, atMs: number): Promise<void> {
  while (world.nextMs <= atMs) {
    world.advance(Math.max(0, world.nextMs - world.clock()))
    for (let i = 0; i < 6; i++) await undefined
  }
  if (atMs > world.clock()) world.advance(atMs - world.clock())
}

/** Durations of requests: as recorded; for refused ones, like those of other requests of their flow. */
class Lengths {
  readonly #lengths = new Map<string, number[]>()
  readonly #next = new Map<string, number>()
  /** Durations of requests that need not wait for the resource. */
  readonly calm: readonly number[]
  /** Additional duration during a shortage: the queue in front of the resource. */
  readonly bufferMs: number

  constructor(rows: readonly Row[]) {
    const all: number[] = []
    const calm: number[] = []
    const troubled = new Set(rows.flatMap(({ atMs, outcome }) => (isLost(outcome) ? [secondOf(atMs)] : [])))
    for (const { flow, atMs, outcome, durationMs } of rows) {
      if (outcome !== 'success') continue
      all.push(durationMs)
      const second = secondOf(atMs)
      if (![-1, 0, 1].some((by) => troubled.has(second + by))) calm.push(durationMs)
      const known = this.#lengths.get(flow)
      if (known === undefined) this.#lengths.set(flow, [durationMs])
      else known.push(durationMs)
    }
    const sorted = [...all].sort((a, b) => a - b)
    this.calm = calm.length >= LEAST_CALM ? calm : [quantile(sorted, 0.1) ?? 1]
    const longestCalm = quantile(
      [...this.calm].sort((a, b) => a - b),
      0.99,
    )
    this.bufferMs = Math.min(2_000, Math.max(50, (quantile(sorted, 0.99) ?? 0) - (longestCalm ?? 0)))
    this.#lengths.set('', all)
  }

  of({ flow, outcome, durationMs }: Row): number {
    if (outcome !== 'refused') return durationMs
    const known = this.#lengths.get(flow) ?? this.#lengths.get('')!
    const next = this.#next.get(flow) ?? 0
    this.#next.set(flow, next + 1)
    return known[(next * 7_919) % Math.max(1, known.length)] ?? 1
  }
}

const isLost = (outcome: Row['outcome']): boolean => outcome === 'failure' || outcome === 'refused'
const secondOf = (atMs: number): number => Math.floor(atMs / 1_000)

function quantile(sorted: readonly number[], part: number): number | undefined {
  return sorted[Math.floor(part * sorted.length)]
}

/**
 * A resource of a given concurrency and rate, which serves in order of arrival and fails requests that find too long a
 * queue. Its concurrency follows from the durations; their variation matters, because FAIR detects a shortage earlier
 * if service is more regular.
 */
class Resource {
  readonly #freeMs: Float64Array
  readonly #perMs: number
  readonly #lengths: Lengths
  readonly #meanMs: number
  #taken: number

  constructor(perSecond: number, lengths: Lengths, seed: number) {
    this.#taken = seed * 104_729
    this.#lengths = lengths
    this.#perMs = perSecond / 1_000
    this.#meanMs = Math.max(1e-3, sum(lengths.calm, (each) => each) / lengths.calm.length)
    this.#freeMs = new Float64Array(Math.min(MOST_AT_ONCE, Math.max(1, Math.round(this.#perMs * this.#meanMs))))
  }

  /** Duration of a request; undefined if it fails. */
  take(cost: number, nowMs: number): number | undefined {
    let next = 0
    for (let i = 1; i < this.#freeMs.length; i++) if (this.#freeMs[i]! < this.#freeMs[next]!) next = i
    const startMs = Math.max(nowMs, this.#freeMs[next]!)
    if (startMs - nowMs > this.#lengths.bufferMs) return undefined
    const { calm } = this.#lengths
    const lengthMs = calm[(this.#taken++ * 7_919) % calm.length]!
    this.#freeMs[next] = startMs + ((lengthMs / this.#meanMs) * cost * this.#freeMs.length) / this.#perMs
    return startMs - nowMs + lengthMs
  }
}
