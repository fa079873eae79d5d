import { type Draws, draws, luck, mix } from './luck.js'
import type { Costs, Crowd, Resource, World } from './world.js'

/** A flow in the records: its windows start at `row`. */
export interface Flow {
  readonly index: number
  readonly row: number
  readonly name: string
  readonly crowd: number
  readonly weight: number
  readonly isKnown: boolean
  readonly course: Course
}

/**
 * Cost by window: could be served, fails regardless of load, was served, was refused at first, found too little
 * capacity.
 */
export interface Course {
  readonly asked: Float64Array
  readonly doomed: Float64Array
  readonly served: Float64Array
  readonly refused: Float64Array
  readonly failed: Float64Array
}

/** Numbers requests: those of a client in a closed loop, or of a whole crowd. */
export interface Client {
  next: number
  readonly step: number
}

/** A crowd that asks. */
export interface Askers extends Client {
  readonly crowd: Crowd
  readonly seed: number
  readonly draw: Draws
  readonly members: readonly Flow[]
  readonly flowBy: (share: number) => Flow
  /** Of a client in a closed loop, from an answer to the next request; 0 for others. */
  readonly thinkSeconds: number
}

/** Results of a world's requests. */
export interface Run {
  readonly windows: number
  readonly flows: readonly Flow[]
  readonly askers: readonly Askers[]
  readonly known: Course
  readonly strangers: Course
  /** By flow and window: cost asked for the first time that could be served, and cost served. */
  readonly asked: Float64Array
  readonly served: Float64Array
  /** By flow: requests that could be served. */
  readonly requests: Float64Array
  admitted: number
  /** Admitted requests that failed because the resource was short. */
  failed: number
}

export function newRun(world: World, windows: number): Run {
  const known = newCourse(windows)
  const strangers = newCourse(windows)
  const flows: Flow[] = []
  const askers = world.crowds.map((crowd, index): Askers => {
    const { stranger, weights, clients, zipf } = crowd
    const members = Array.from({ length: crowd.flows }, (_, i): Flow => {
      const flow = {
        index: flows.length,
        row: flows.length * windows,
        name: `${crowd.name}-${i}`,
        crowd: index,
        weight: weights?.[i % weights.length] ?? 1,
        isKnown: !stranger,
        course: stranger ? strangers : known,
      }
      flows.push(flow)
      return flow
    })
    const seed = mix(world.seed * 31 + index + 1)
    const place = zipf === undefined ? (share: number) => Math.floor(share * crowd.flows) : byZipf(crowd.flows, zipf)
    const flowBy = (share: number): Flow => members[place(share)]!
    const thinkSeconds = clients ? (crowd.flows * clients) / crowd.perSecond : 0
    return { crowd, seed, draw: draws(seed), members, flowBy, thinkSeconds, next: 0, step: 1 }
  })
  const cells = flows.length * windows
  const [asked, served, requests] = [new Float64Array(cells), new Float64Array(cells), new Float64Array(flows.length)]
  return { windows, flows, askers, known, strangers, asked, served, requests, admitted: 0, failed: 0 }
}

function newCourse(windows: number): Course {
  const column = (): Float64Array => new Float64Array(windows)
  return { asked: column(), doomed: column(), served: column(), refused: column(), failed: column() }
}

function byZipf(count: number, exponent: number): (share: number) => number {
  const upTo = new Float64Array(count)
  let sum = 0
  for (let i = 0; i < count; i++) upTo[i] = sum += (i + 1) ** -exponent
  return (share) => {
    let low = 0
    let high = count - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (upTo[middle]! > share * sum) high = middle
      else low = middle + 1
    }
    return low
  }
}

/** Clients in closed loops ask for the first time; others arrive at random, at their crowd's rate. */
export function planArrivals(
  askers: Askers,
  agenda: Agenda,
  request: (flow: Flow, client: Client | Askers) => void,
): void {
  const { crowd, draw, members, flowBy, thinkSeconds } = askers
  const { clients, flows, perSecond, bursts } = crowd
  const [from, to] = crowd.between
  if (clients) {
    const step = flows * clients
    for (let next = 0; next < step; next++) {
      const client = { next, step }
      agenda.plan(from + draw.exponential(thinkSeconds), () => request(members[next % flows]!, client))
    }
    return
  }
  if (!(perSecond > 0)) return
  const arrive = (at: number): void => {
    const next = at + draw.exponential(1 / perSecond)
    if (next < to) agenda.plan(next, arrive)
    const flow = flowBy(draw.next())
    draw.next() // Seeds have stood for these worlds since arrivals could be thinned out.
    if (!bursts || at % (bursts.on + bursts.off) < bursts.on) request(flow, askers)
  }
  agenda.plan(from + draw.exponential(1 / perSecond), arrive)
}

/** The process of a request. `share` is its random draw, `id` its number. */
export type Place = (flow: Flow, id: number, share: number) => number

export function balancerOf({ seed, processes, balancer, crowds }: World): Place {
  if (processes === 1) return () => 0
  const byLuck = (share: number): number => Math.floor(share * processes)
  switch (balancer) {
    case 'sticky':
      return ({ index }) => byLuck(luck(seed, index, 1))
    case 'connections': // each carries about 50 requests of a flow
      return ({ index, crowd }, id) => byLuck(luck(seed, index, Math.floor(id / (50 * crowds[crowd]!.flows))))
    case 'skewed': // the first process has most of the requests
      return (_flow, _id, share) => byLuck(share * share)
    case 'random':
      return (_flow, _id, share) => byLuck(share)
  }
}

/** A cost by a random draw. */
export function costBy({ shape, most }: Costs, share: number): number {
  return (1 - share * (1 - most ** -shape)) ** (-1 / shape)
}

interface Item {
  readonly at: number
  readonly order: number
  readonly run: (at: number) => void
}

/** Scheduled events, by time; of two at the same time, first the one scheduled first. A binary heap. */
export class Agenda {
  readonly #heap: Item[] = []
  #planned = 0

  plan(at: number, run: (at: number) => void): void {
    const heap = this.#heap
    const item = { at, order: this.#planned++, run }
    let i = heap.length
    heap.push(item)
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!isBefore(item, heap[parent]!)) break
      heap[i] = heap[parent]!
      i = parent
    }
    heap[i] = item
  }

  /** Removes and returns the first item. */
  next(): Item | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[i] = heap[child]!
      i = child
    }
    heap[i] = last
    return first
  }
}

function isBefore(a: Item, b: Item): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

/** Cost that `resource` can serve between two times, without its initial store. */
export function capacityBetween(resource: Resource, from: number, to: number): number {
  let sum = 0
  let at = from
  for (const change of resource.changes) {
    if (change.at <= at) continue
    if (change.at >= to) break
    sum += (change.at - at) * capacityAt(resource, at)
    at = change.at
  }
  return sum + (to - at) * capacityAt(resource, at)
}

function capacityAt(resource: Resource, at: number): number {
  const times = timesAt(resource, at)
  return resource.kind === 'pool' ? workersOf(resource, times) / resource.meanSeconds : resource.perSecond * times
}

function timesAt({ changes }: Resource, at: number): number {
  return changes.findLast((change) => at >= change.at)?.times ?? 1
}

function workersOf({ workers }: { readonly workers: number }, times: number): number {
  return times === 0 ? 0 : Math.max(1, Math.round(workers * times))
}

/**
 * The service of a resource. `done` is called once, synchronously or from the agenda; `share` is the draw of the
 * service time.
 */
export type Take = (now: number, cost: number, share: number, done: (served: boolean) => void) => void

export function resourceOf(resource: Resource, agenda: Agenda): Take {
  if (resource.kind === 'pool') return poolOf(resource, agenda)
  let level = resource.burst
  let at = 0
  return (now, cost, _share, done) => {
    level = Math.min(resource.burst, level + capacityBetween(resource, at, now))
    at = now
    const served = level >= cost
    if (served) level -= cost
    done(served)
  }
}

/** A request fails if it finds the queue full, or waits in it for too long. */
function poolOf(resource: Extract<Resource, { kind: 'pool' }>, agenda: Agenda): Take {
  const { meanSeconds, line: places, patience, changes } = resource
  const line: { readonly seconds: number; readonly done: (served: boolean) => void }[] = []
  let busy = 0
  const isFree = (now: number): boolean => busy < workersOf(resource, timesAt(resource, now))
  const start = (now: number, seconds: number, done: (served: boolean) => void): void => {
    busy++
    agenda.plan(now + seconds, (at) => {
      busy--
      done(true)
      serve(at)
    })
  }
  const serve = (now: number): void => {
    while (line.length > 0 && isFree(now)) {
      const { seconds, done } = line.shift()!
      start(now, seconds, done)
    }
  }
  for (const { at } of changes) agenda.plan(at, serve)
  return (now, cost, share, done) => {
    const seconds = -Math.log(1 - share) * meanSeconds * cost
    if (isFree(now)) return start(now, seconds, done)
    if (line.length >= places) return done(false)
    const job = { seconds, done }
    line.push(job)
    agenda.plan(now + patience, () => {
      const place = line.indexOf(job)
      if (place < 0) return
      line.splice(place, 1)
      done(false)
    })
  }
}
