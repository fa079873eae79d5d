import { Capacity } from './capacity.js'
import { CleanRun } from './clean-run.js'
import { Outstanding } from './outstanding.js'
import { Overflow } from './overflow.js'
import { Pace } from './pace.js'
import { Phase } from './phase.js'
import { probeFactor } from './probe.js'
import { Reservoir } from './reservoir.js'
import { Traffic } from './traffic.js'

/** Share of failures from which on nearly nothing is served: then failures say nothing about who asks too much. */
const OUTAGE_SHARE = 0.9

/** What becomes of a request. `uncharged`: let in because there is enough, though its flow is ahead of the clock. */
export type Judgement = 'refused' | 'uncharged' | 'charged'

/**
 * The fair clock: decides by a flow's tag, the time until which it has had its share, whether it may have more.
 *
 * Admitting a request moves the tag of its flow on by cost / weight. A flow whose tag is ahead of the clock is refused;
 * one that lags behind may catch up by `credit` requests, no more. A failure blames nobody: it is a measurement of the
 * resource, from which follows how fast the clock may run.
 *
 * Costs are in any unit, times in seconds. Knows no flows, hashes or clocks: all come in as numbers.
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
  readonly #run = new CleanRun()
  readonly #outstanding = new Outstanding()
  readonly #overflow = new Overflow()
  readonly #credit: number
  readonly #probe: number

  constructor(credit: number, probe: number) {
    this.#credit = credit
    this.#probe = probe
  }

  /** `seconds` pass, above 0. */
  advance(seconds: number): void {
    const { traffic, capacity, reservoir, pace, phase } = this
    const { meanCost } = traffic
    traffic.advance(seconds)
    capacity.advance(seconds, traffic.failureShare)
    this.#outstanding.advance(seconds)
    if (phase.open) {
      pace.runFreely(seconds)
      return
    }
    const run = this.#run
    run.seconds += seconds
    // At least one request a second is tried, so that a resource that comes back is found.
    const probed = Math.max(capacity.perSecond * probeFactor(run, this.#probe), meanCost)
    reservoir.fit(capacity.perSecond, probed, meanCost, this.#overflow.cushion)
    reservoir.fill(capacity.perSecond, probed, seconds)
    // Nothing to spare: clock and rate stand still, and nobody loses anything by that.
    if (reservoir.spareSeconds === 0) return
    const pressure = reservoir.spareLevel / reservoir.target
    pace.run(pressure, reservoir.spareSeconds)
    if (pressure <= 1 || !phase.unlimited) pace.follow(pressure, reservoir.spareSeconds, probed, meanCost)
  }

  /** The least that a tag counts for: a flow that lags further has as much credit as any may keep. */
  leastTag(weight: number): number {
    return this.pace.time - (this.#credit * this.traffic.meanCost) / weight
  }

  /** A request of a flow whose tag is `tag`, no less than {@link leastTag}. */
  judge(tag: number, cost: number, weight: number): Judgement {
    const { traffic, reservoir, pace, phase } = this
    const { meanCost } = traffic
    const over = tag > pace.time
    if (phase.open) {
      pace.shadow(over, traffic.servedPerSecond, meanCost)
      this.#outstanding.admit()
      if (over) return 'uncharged'
      phase.admitted()
      return 'charged'
    }
    if (over) {
      phase.refused()
      return 'refused'
    }
    phase.admitted()
    this.#outstanding.admit()
    if (reservoir.level <= 0 && pace.time - tag < meanCost / weight && traffic.failureShare < OUTAGE_SHARE)
      pace.retreat(this.capacity.perSecond)
    reservoir.take(cost)
    phase.found(reservoir.full)
    return 'charged'
  }

  /** What was let in has cost `due` more than it was charged, or less. */
  settle(due: number): void {
    if (this.phase.open) return
    if (due > 0) this.reservoir.take(due)
    else this.reservoir.putBack(-due)
  }

  /** A request that was let in got the resource. */
  succeeded(cost: number): void {
    const { reservoir } = this
    const run = this.#run
    this.#outstanding.report()
    this.traffic.succeeds(cost)
    run.served += cost
    if (this.phase.open) return
    if (!reservoir.full) run.telling++
    this.capacity.raise(run, this.traffic.meanCost)
    if (this.#outstanding.none) reservoir.correctUp()
  }

  /** A request that was let in did not get the resource. True if its flow is to have back what it was charged. */
  failed(): boolean {
    const { traffic, capacity, reservoir, phase } = this
    const { meanCost } = traffic
    const run = this.#run
    this.#outstanding.report()
    traffic.fails()
    if (phase.open) {
      const { servedPerSecond } = traffic
      if (phase.engageIf(traffic.failureShare, servedPerSecond)) {
        capacity.begin(servedPerSecond, meanCost)
        reservoir.begin()
        run.end()
        this.#outstanding.correct()
      }
      return false
    }
    const full = reservoir.wasFull
    capacity.measure(run, meanCost, full)
    if (this.#outstanding.news) {
      this.#overflow.learn(reservoir, run.served, full, capacity.perSecond, meanCost)
      reservoir.correctDown()
      this.#outstanding.correct()
    }
    reservoir.peak = 0
    run.end()
    return traffic.failureShare <= OUTAGE_SHARE
  }

  /** A request that was let in says nothing about the resource: what was set aside for it is free again. */
  ignored(cost: number): void {
    this.#outstanding.report()
    if (!this.phase.open) this.reservoir.putBack(cost)
  }
}
