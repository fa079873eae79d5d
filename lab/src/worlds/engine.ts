import { luck, mix } from './luck.js'
import {
  Agenda,
  type Askers,
  balancerOf,
  type Client,
  type Course,
  costBy,
  type Flow,
  newRun,
  type Place,
  planArrivals,
  type Run,
  resourceOf,
  type Take,
} from './population.js'
import type { Controller, Report, Rule } from './rules.js'
import type { World } from './world.js'

/** Length of the recorded windows of a run, in seconds. */
export const WINDOW = 10

/** Purposes of a request's random draws. Each attempt has its own, offset by `ATTEMPT`. */
const COST = 1
const DOOM = 2
const SERVICE = 3
const UNRELATED = 4
const BALANCER = 5
const LATE = 6
const LOST = 7
const REPORT = 8
const PAUSE = 9
const THINK = 10
const ATTEMPT = 16

/** Shortest time until a client in a closed loop sends its next request after a failure, in seconds. */
const LEAST_PAUSE = 0.05
/** The retry delay that a failure states, in seconds. */
const AFTER_FAILURE = 1

/** Has no memory after a restart, and has a clock of its own. */
class Process {
  /** How far its clock is ahead of time, in seconds. */
  ahead = 0
  controller: Controller
  readonly #clock: () => number
  readonly #make: (life: number, clock: () => number) => Controller
  #life = 0

  constructor(now: () => number, make: (life: number, clock: () => number) => Controller) {
    this.#clock = () => 1000 * (now() + this.ahead)
    this.#make = make
    this.controller = make(0, this.#clock)
  }

  restart(): void {
    this.controller = this.#make(++this.#life, this.#clock)
  }
}

interface Asking {
  readonly askers: Askers
  readonly flow: Flow
  readonly client: Client
  readonly id: number
  readonly cost: number
  readonly doomed: boolean
  tries: number
}

/** Called at the end of each window. */
export type Observe = (window: number, controllers: readonly Controller[]) => void

/**
 * Runs a world with a rule in each of its processes. Arrivals and every request's random draws depend on the seed
 * alone, so all rules meet the same world. Requests that are certain to fail do not burden the resource.
 */
export function simulate(world: World, rule: Rule, observe?: Observe): Run {
  return new Simulation(world, rule).run(observe)
}

class Simulation {
  readonly #world: World
  readonly #agenda = new Agenda()
  readonly #run: Run
  readonly #take: Take
  readonly #processes: readonly Process[]
  readonly #placeOf: Place
  readonly #weights = new Map<string, number>()
  #now = 0

  constructor(world: World, rule: Rule) {
    this.#world = world
    this.#run = newRun(world, Math.ceil(world.seconds / WINDOW))
    this.#take = resourceOf(world.resource, this.#agenda)
    const { seed, processes } = world
    const truth = { resource: world.resource, now: () => this.#now }
    const weightOf = (flow: string): number => this.#weights.get(flow) ?? 1
    this.#processes = Array.from(
      { length: processes },
      (_, index) =>
        new Process(
          () => this.#now,
          (life, clock) => rule(mix(mix(seed) + 16 * life + index) >>> 0, clock, weightOf, truth),
        ),
    )
    this.#placeOf = balancerOf(world)
  }

  run(observe: Observe | undefined): Run {
    const agenda = this.#agenda
    const { askers, windows } = this.#run
    const { seconds, jumps, restarts } = this.#world
    const processes = this.#processes
    const processAt = (index: number): Process => processes[index % processes.length]!
    for (const { at, process, by } of jumps)
      agenda.plan(at, () => {
        processAt(process).ahead += by
      })
    for (const { at, process } of restarts) agenda.plan(at, () => processAt(process).restart())
    for (const each of askers) planArrivals(each, agenda, (flow, client) => this.#request(each, flow, client))
    if (observe) {
      const controllers = (): readonly Controller[] => processes.map(({ controller }) => controller)
      for (let w = 0; w < windows; w++) agenda.plan((w + 1) * WINDOW, () => observe(w, controllers()))
    }
    for (let item = agenda.next(); item && item.at <= seconds; item = agenda.next()) {
      this.#now = item.at
      item.run(item.at)
    }
    return this.#run
  }

  #request(askers: Askers, flow: Flow, client: Client): void {
    const { crowd, seed } = askers
    if (this.#now >= crowd.between[1]) return
    const id = client.next
    client.next += client.step
    const { costs } = this.#world
    const cost = costs ? costBy(costs, luck(seed, id, COST)) : 1
    const doomed = luck(seed, id, DOOM) < (crowd.fails ?? 0)
    const asking: Asking = { askers, flow, client, id, cost, doomed, tries: 0 }
    if (this.#failsAnyway(asking)) this.#write(flow, 'doomed', cost)
    else {
      this.#write(flow, 'asked', cost)
      this.#run.asked[flow.row + this.#window]! += cost
      this.#run.requests[flow.index]!++
    }
    this.#attempt(asking)
  }

  #attempt(asking: Asking): void {
    const { askers, flow, cost, id } = asking
    const { renamedAfter } = askers.crowd
    const { costs, resource } = this.#world
    const { controller } = this.#processes[this.#placeOf(flow, id, luckOf(asking, BALANCER))]!
    const name = renamedAfter ? `${flow.name}.${Math.floor(id / renamedAfter)}` : flow.name
    if (flow.weight !== 1) this.#weights.set(name, flow.weight)
    const report = controller.admit(name, costs?.known === false ? 1 : cost)
    if (typeof report === 'number') {
      if (asking.tries === 0) this.#write(flow, 'refused', cost)
      this.#goOn(asking, report / 1000)
      return
    }
    this.#run.admitted++
    const end = (served: boolean, isShort: boolean): void =>
      this.#after(resource.late * luckOf(asking, LATE), () => this.#end(asking, served, isShort, report))
    if (this.#failsAnyway(asking)) end(false, false)
    else this.#take(this.#now, cost, luckOf(asking, SERVICE), (served) => end(served, !served))
  }

  /** The client gets its answer at once; the rule gets its report later, or never. */
  #end(asking: Asking, served: boolean, isShort: boolean, report: Report): void {
    const { askers, flow, client, cost } = asking
    const { lost, late } = this.#world.reports
    if (lost === 0 || luckOf(asking, LOST) >= lost)
      this.#after(late * luckOf(asking, REPORT), () => report(served ? 'success' : 'failure', cost))
    if (isShort) {
      this.#run.failed++
      this.#write(flow, 'failed', cost)
    }
    if (!served) {
      this.#goOn(asking, AFTER_FAILURE)
      return
    }
    this.#write(flow, 'served', cost)
    this.#run.served[flow.row + this.#window]! += cost
    if (askers.crowd.clients) this.#after(thinkTime(asking), () => this.#request(askers, flow, client))
  }

  /** The reaction of a client to a refusal or a failure. */
  #goOn(asking: Asking, afterSeconds: number): void {
    const { askers, flow, client, tries } = asking
    const { retry, clients } = askers.crowd
    if (retry && tries < retry.tries) {
      const seconds = pauseBefore(asking, retry.kind, afterSeconds)
      asking.tries++
      this.#agenda.plan(this.#now + seconds, () => this.#attempt(asking))
    } else if (clients) {
      this.#after(Math.max(LEAST_PAUSE, thinkTime(asking)), () => this.#request(askers, flow, client))
    }
  }

  /** True if the attempt fails regardless of load. */
  #failsAnyway(asking: Asking): boolean {
    const { unrelated } = this.#world
    if (asking.doomed || unrelated === null) return asking.doomed
    const { share, from, to, rounds } = unrelated
    const isOn = rounds === undefined || (((this.#now - from) / (to - from)) * rounds) % 1 < 1 / 3
    return isOn && this.#now >= from && this.#now < to && luckOf(asking, UNRELATED) < share
  }

  get #window(): number {
    return Math.min(this.#run.windows - 1, Math.floor(this.#now / WINDOW))
  }

  #write({ course }: Flow, column: keyof Course, cost: number): void {
    course[column][this.#window]! += cost
  }

  #after(seconds: number, run: () => void): void {
    if (seconds > 0) this.#agenda.plan(this.#now + seconds, run)
    else run()
  }
}

function luckOf({ askers, id, tries }: Asking, purpose: number): number {
  return luck(askers.seed, id, purpose + ATTEMPT * tries)
}

function thinkTime(asking: Asking): number {
  return -Math.log(1 - luckOf(asking, THINK)) * asking.askers.thinkSeconds
}

/** Seconds: hardly any, doubled each time, or the delay that the client was told. */
function pauseBefore(asking: Asking, kind: 'now' | 'backoff' | 'after', afterSeconds: number): number {
  const jitter = 0.5 + luckOf(asking, PAUSE)
  if (kind === 'now') return 0.01 * jitter
  return kind === 'backoff' ? 0.2 * 2 ** asking.tries * jitter : Math.ceil(afterSeconds) * (1 + 0.25 * jitter)
}
