import { highestLevel, type LevelledClaims } from './highest-level.js'
import type { Plane } from './plane.js'
import { Ranking } from './ranking.js'

/** Steps of a search before it makes do. */
const MOST_STEPS = 200

/**
 * What active tenants may still claim, all together, of which a level and a time decide.
 *
 * A tenant of weight w that has used or let pass v has r = v/w. Its claim at level λ, when the share τ of the window is
 * over, is w·min(λ − r, λ(1 − τ)), if above 0. With S(x) the sum of w·x − v over those with r < x, that makes S(λ) −
 * S(λτ) for all: two sums over a ranking by r, whatever the time. O(log n).
 */
export class Claims implements LevelledClaims {
  readonly #byShare: Ranking = new Ranking('sum')
  /** By how much the last {@link total} grows with the level. */
  slope = 0

  /** Counts a tenant, or counts it anew. */
  set(slot: number, weight: number, passed: number): void {
    this.#byShare.set(slot, passed / weight, weight, passed)
  }

  /** Counts a tenant no more, if it is counted. */
  drop(slot: number): void {
    if (this.#byShare.has(slot)) this.#byShare.remove(slot)
  }

  clear(): void {
    this.#byShare.clear()
  }

  /** All claims at `level`, when the share `tau` of the window is over. */
  total(level: number, tau: number): number {
    const ranking = this.#byShare
    ranking.sumBelow(level)
    let sum = ranking.x * level - ranking.y
    this.slope = ranking.x
    if (tau > 0) {
      ranking.sumBelow(level * tau)
      sum -= ranking.x * level * tau - ranking.y
      this.slope -= ranking.x * tau
    }
    return sum
  }

  /** All claims near `level` and the part of it that has passed, `faded`, as a plane. */
  plane(level: number, faded: number, into: Plane): void {
    const ranking = this.#byShare
    into.clear()
    ranking.sumBelow(level)
    into.weight = ranking.x
    into.passed = ranking.y
    into.lowLevel = ranking.below
    into.highLevel = ranking.above
    ranking.sumBelow(faded)
    into.fading = ranking.x
    into.passed -= ranking.y
    into.lowFaded = ranking.below
    into.highFaded = ranking.above
  }

  /** The highest level up to `ceiling` at which all claims, and a newcomer's, fit into `room`. */
  highest(ceiling: number, tau: number, room: number, newcomer: number, slack: number): number {
    return highestLevel(this, ceiling, ceiling, tau, room, newcomer, slack)
  }

  /**
   * The least share of the window, from `tau` up to `latest`, at which those who keep silent have let so much pass that
   * all claims at `level` but one's own come to at most `room`; `latest` if they never do by then. `weight` and
   * `passed` are one's own (weight 0: there is no claim of one's own in the sum).
   */
  fadedBy(level: number, tau: number, latest: number, room: number, weight: number, passed: number): number {
    const passedAt = (key: number): number => {
      this.#byShare.sumBelow(key)
      const mine = passed < weight * key ? 1 : 0
      this.slope = this.#byShare.x - mine * weight
      return this.#byShare.x * key - this.#byShare.y - mine * (weight * key - passed)
    }
    const target = passedAt(level) - room
    let key = level * latest
    for (let step = 0; step < MOST_STEPS; step++) {
      const over = passedAt(key) - target
      if (over < 0 || this.slope <= 0) break
      // What passes is convex: from above, Newton's steps never overshoot, and end on the right piece.
      const next = key - over / this.slope
      if (next <= level * tau) return tau
      if (next >= key) break
      key = next
    }
    return Math.min(latest, key / level)
  }
}
