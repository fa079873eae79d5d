import type { Admission, AdmissionNote } from './admission.js'
import { Background } from './background.js'
import { Capacity } from './capacity.js'
import { CleanRun } from './clean-run.js'
import { Delay } from './delay.js'
import { Lead } from './lead.js'
import { Newcomers } from './newcomers.js'
import { Outstanding } from './outstanding.js'
import { Overflow } from './overflow.js'
import { Pace } from './pace.js'
import { Phase } from './phase.js'
import { probeFactor, trustIn } from './probe.js'
import { Reservoir } from './reservoir.js'
import { Step } from './step.js'
import { Traffic } from './traffic.js'
import { Workers } from './workers.js'

/** Requests' worth of credit of a flow that is new, while there is a shortage; then it is as far ahead as anybody may. */
const NEWCOMERS_CREDIT = 1
/** And by so many requests further: or several from one name would come for one that is new. */
const NEWCOMERS_DEBT = 0.5
/** A flow is known for a time at the fair rate, or at this part of its full credit a second: no credit is forgotten. */
const KNOWN_CREDITS_PER_SECOND = 1 / 30

/** More time than this, or than so many requests take, passes only if the clock was set or the process suspended. */
const LONGEST_STEP_SECONDS = 1
const LONGEST_STEP_REQUESTS = 30

/** What becomes of a request. `uncharged`: let in because there is enough, though its flow is ahead of the clock. */
export type Judgement = 'refused' | 'uncharged' | 'charged'

/**
 * The fair clock: decides by a flow's tag, the time until which it has had its share, whether it may have more.
 *
 * Admitting a request moves the tag of its flow on by cost / weight. A flow whose tag is ahead of the clock is refused,
 * unless there is much to spare; one that lags behind may catch up by `credit` requests, no more. A failure blames
 * nobody: it is a measurement of the resource, from which follows how fast the clock may run.
 *
 * Costs are in any unit. Knows no flows, hashes or clocks: all come in as numbers.
 *
 * @see the virtual time of start-time fair queueing (P. Goyal, H. Vin, H. Cheng, SIGCOMM 1996), and the generic cell
 *   rate algorithm (ITU-T I.371), which the tags are
 */
export class FairClock {
  readonly traffic: Traffic = new Traffic()
  readonly capacity: Capacity = new Capacity()
  readonly reservoir: Reservoir = new Reservoir()
  readonly pace: Pace = new Pace()
  readonly phase: Phase = new Phase()
  readonly background: Background = new Background()
  readonly #step = new Step()
  /** The latest admission, and what time it is now. */
  readonly #latest: AdmissionNote = { serial: 0, at: 0, total: 0 }
  readonly #run = new CleanRun()
  readonly #delay = new Delay()
  readonly #outstanding = new Outstanding()
  readonly #overflow = new Overflow()
  readonly #newcomers: Newcomers
  readonly #lead = new Lead()
  readonly #workers = new Workers()
  readonly #credit: number
  readonly #probe: number
  /** True while less is let in than could be, to see if failures become fewer. */
  #tries = false
  #atMs: number = Number.NaN

  /** `cells`: on a level of the sketch that keeps the tags. */
  constructor(credit: number, probe: number, cells: number) {
    this.#newcomers = new Newcomers(cells)
    this.#credit = credit
    this.#probe = probe
  }

  /**
   * It is `nowMs` now. Nothing is known of the time before the first call; a time before the last one is no time
   * passed, and time goes on from there. A leap ahead counts for a moment only.
   */
  advance(nowMs: number): void {
    const elapsed = (nowMs - this.#atMs) / 1000
    this.#atMs = nowMs
    if (!(elapsed > 0)) return
    const { traffic, capacity, reservoir, pace, phase } = this
    const { meanCost } = traffic
    const longest = Math.max(LONGEST_STEP_SECONDS, (LONGEST_STEP_REQUESTS * meanCost) / capacity.perSecond)
    const step = this.#step
    step.seconds = Math.min(elapsed, longest)
    this.#latest.at += step.seconds
    traffic.advance(step)
    capacity.advance(step, traffic)
    this.#newcomers.advance(step)
    if (phase.open) {
      pace.runFreely(step)
      return
    }
    const run = this.#run
    run.reach(this.#latest)
    step.trust = trustIn(run, this.#delay)
    capacity.raise(run, traffic, this.#delay, step)
    // At least one request a second is tried, so that a resource that comes back is found.
    step.probedPerSecond = Math.max(capacity.perSecond * probeFactor(step.trust, this.#probe), meanCost)
    this.#tries = this.background.limits(this.#latest)
    if (this.#tries) {
      step.probedPerSecond = Math.min(step.probedPerSecond, this.background.mostPerSecond * meanCost)
      reservoir.mayRunOver()
    }
    this.#fill()
    // Nothing to spare: clock and rate stand still, and nobody loses anything by that.
    if (reservoir.spareSeconds === 0) return
    pace.run(reservoir, this.#lead, phase)
    if (reservoir.spareLevel <= reservoir.target || !phase.unlimited) pace.follow(reservoir, step, traffic, phase)
  }

  /** A request comes in. */
  arrives(cost: number): void {
    if (this.traffic.arrives(cost)) this.pace.begin(cost)
  }

  /** What a tag that is `stored` counts for: a flow that lags far behind has as much credit as any may keep. */
  tagOf(stored: number, weight: number): number {
    const credit = this.isNew(stored) ? NEWCOMERS_CREDIT : this.#credit
    return Math.max(stored, this.pace.time - (credit * this.traffic.meanCost) / weight)
  }

  /** The highest tag with which a request of this weight is let in. */
  limit(weight: number): number {
    const { pace, phase, reservoir, traffic } = this
    return phase.open ? pace.time : pace.time + reservoir.ahead(traffic) / weight
  }

  /** A request of a flow whose tag is `stored`, and so counts for `tag`; `greedy` if it asks for twice what it gets. */
  judge(stored: number, tag: number, cost: number, weight: number, greedy: boolean): Judgement {
    const { traffic, capacity, reservoir, pace, phase } = this
    const over = tag > this.limit(weight)
    if (phase.open) {
      pace.shadow(over, traffic)
      this.#admit(cost)
      if (over) return 'uncharged'
      phase.admitted()
      return 'charged'
    }
    if (
      over ||
      (this.#tries && reservoir.level < 0) ||
      (this.isNew(stored) && !this.#newcomers.allow(cost, capacity, traffic, reservoir))
    ) {
      phase.refused(weight)
      return 'refused'
    }
    phase.admitted()
    this.#admit(cost)
    this.#lead.admit(cost)
    if (this.isNew(stored)) this.#newcomers.letIn()
    if (greedy) this.#newcomers.match(cost)
    if (!this.#workers.found) reservoir.take(cost)
    phase.found(reservoir.full)
    return 'charged'
  }

  /** The tag after a request was charged. Who was new has been ahead as far as may be, and more: else names would pay. */
  tagAfter(stored: number, tag: number, cost: number, weight: number): number {
    const next = tag + cost / weight
    if (!this.isNew(stored)) return next
    return Math.max(next, this.limit(weight) + (NEWCOMERS_DEBT * this.traffic.meanCost) / weight)
  }

  /** Writes down the latest admission: to be given back with its outcome. */
  note(admission: AdmissionNote): void {
    const { serial, at, total } = this.#latest
    admission.serial = serial
    admission.at = at
    admission.total = total
  }

  /** A request has cost `due` more than it was charged, or less. */
  settle(due: number, admission: Admission): void {
    if (this.phase.open) return
    if (due > 0) this.reservoir.take(due)
    else this.reservoir.putBack(-due)
    this.#lessen(-due, admission)
  }

  /** A request that was let in got the resource. */
  succeeded(cost: number, admission: Admission): void {
    const { reservoir, traffic, phase } = this
    const run = this.#run
    const outstanding = this.#outstanding
    outstanding.report(admission)
    this.#tellBackground(admission, false)
    traffic.succeeds(cost)
    if (phase.open) return
    if (!reservoir.full) run.telling++
    this.capacity.recover(run)
    if (outstanding.count === 0 && !this.#workers.found && !this.#tries) reservoir.correctUp()
  }

  /** A request that was let in did not get the resource. */
  failed(cost: number, admission: Admission): void {
    const { traffic, capacity, reservoir, phase, background } = this
    const { meanCost } = traffic
    const run = this.#run
    const outstanding = this.#outstanding
    outstanding.report(admission)
    this.#tellBackground(admission, true)
    if (background.absorbs(this.#latest)) {
      if (phase.open && background.isDue(this.#latest) && traffic.servedPerSecond > 0) this.#engage(admission)
      this.#useless(cost, admission)
      return
    }
    this.#workers.fails(outstanding.count, this.#latest.serial - admission.serial)
    this.#delay.observe(this.#latest.at - admission.at)
    traffic.fails()
    if (phase.open) {
      if (phase.isShortage(traffic)) this.#engage(admission)
      return
    }
    const full = reservoir.wasFull
    const inRun = run.has(admission)
    if (inRun) {
      run.endWith(admission, cost)
      capacity.measure(run, traffic, full)
    } else capacity.lessen(cost, traffic)
    if (outstanding.isNews(admission)) {
      this.#overflow.learn(reservoir, run, capacity, traffic, full)
      // That a request failed says only that there was less than it would have cost.
      reservoir.correctDown(Math.max(0, cost - meanCost))
      outstanding.correct()
    }
    reservoir.peak = 0
    if (inRun) run.begin(admission)
  }

  /** A request that was let in says nothing about the resource: what was set aside for it is free again. */
  ignored(cost: number, admission: Admission): void {
    this.#outstanding.report(admission)
    this.#useless(cost, admission)
  }

  /** A shortage begins, with the failure of a request. */
  #engage(failed: Admission): void {
    const { traffic, capacity, reservoir, phase, background } = this
    phase.open = false
    capacity.begin(traffic)
    background.begin(traffic)
    this.#step.probedPerSecond = capacity.perSecond
    reservoir.begin(this.#step, capacity, traffic, this.#overflow)
    this.#lead.clear()
    this.#run.begin(failed)
    this.#outstanding.correct()
  }

  #tellBackground(admission: Admission, failed: boolean): void {
    const short = !this.phase.open && !this.#workers.found
    this.background.report(admission, failed, this.#latest, short, this.capacity)
  }

  /** What was set aside for a request was not used. */
  #useless(cost: number, admission: Admission): void {
    if (this.phase.open) return
    this.reservoir.putBack(cost)
    this.#lessen(cost, admission)
  }

  #admit(cost: number): void {
    this.#outstanding.admit()
    this.#latest.serial++
    this.#latest.total += cost
  }

  /** So much of an admission was not served after all. */
  #lessen(cost: number, admission: Admission): void {
    if (this.#run.has(admission)) this.#run.lessen(cost)
    else this.capacity.lessen(cost, this.traffic)
  }

  /** Brings what there is to spare up to date. */
  #fill(): void {
    const { reservoir, traffic, capacity } = this
    const step = this.#step
    if (this.#workers.found) {
      reservoir.mirror(step, traffic, this.#workers, this.#outstanding)
      this.#lead.clear()
      return
    }
    this.#lead.advance(step, traffic, this.pace, this.phase)
    reservoir.fit(step, capacity, traffic, this.#overflow)
    reservoir.fill(step, capacity)
  }

  /** The stored tag as far as it is known: 0, as of a new flow, if it was charged so long ago that it is forgotten. */
  recall(stored: number, weight: number): number {
    const { time, rate } = this.pace
    const memory = Math.max(rate, (KNOWN_CREDITS_PER_SECOND * this.#credit * this.traffic.meanCost) / weight)
    return stored < time - this.#newcomers.knownSeconds * memory ? 0 : stored
  }

  /** True if the flow has not been seen lately, and that matters because there is a shortage. */
  isNew(stored: number): boolean {
    return stored === 0 && !this.phase.open
  }
}
