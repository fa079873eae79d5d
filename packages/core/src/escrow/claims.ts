import { grown, Ranking } from './ordered-sums.js'

/** Most steps of a search: more than halving alone needs, at every third step. */
const MOST_STEPS = 200

/** Claims as a function of a level and a time. */
export interface LevelledClaims {
  /** The sum of all claims at `level`, when the share `tau` of the window has passed. */
  total(level: number, tau: number): number
  /** Growth of the last {@link total} with the level. */
  readonly slope: number
}

/**
 * The highest level, up to `ceiling`, at which all `claims`, and that of a newcomer of weight `newcomer` that carries
 * `carried`, fit into `room`, to within `slack`. The search begins at `from`.
 *
 * Claims are piecewise linear in the level: Newton's steps find the piece in a few steps, and halving at every third
 * bounds their number.
 */
export function highestLevel(
  claims: LevelledClaims,
  from: number,
  ceiling: number,
  tau: number,
  room: number,
  newcomer: number,
  carried: number,
  slack: number,
): number {
  const pace = newcomer * (1 - tau)
  let low = 0
  let high = ceiling
  // The room is enough for the newcomer alone up to here.
  let level = pace > 0 ? Math.min(from, Math.max(room / pace, (room + carried) / newcomer)) : from
  let mayBeAll = true
  for (let step = 0; step < MOST_STEPS; step++) {
    const isAhead = newcomer * level * tau < carried
    const own = isAhead ? Math.max(0, newcomer * level - carried) : pace * level
    const excess = claims.total(level, tau) + own - room
    const slope = claims.slope + (isAhead ? (own > 0 ? newcomer : 0) : pace)
    if (level === ceiling) {
      if (excess <= slack) return ceiling
      mayBeAll = false
    }
    const next = slope > 0 ? level - excess / slope : excess > 0 ? 0 : ceiling
    if (mayBeAll && excess <= slack && next + (2 * slack) / slope >= ceiling) {
      level = ceiling
      continue
    }
    if (Math.abs(excess) <= slack && slope > 0) return level
    if (excess <= 0) low = level
    else high = level
    if (high - low <= Number.EPSILON * high) break
    level = next > low && next < high && step % 3 < 2 ? next : (low + high) / 2
  }
  return low
}

/** Relative rounding error of a claim: planes within this of each other count as one. */
const ROUNDING = 1e-15

/**
 * A claim, near a point. A claim depends on the level L behind guarantees, and on the part of it that has passed with
 * time, `faded` = L·τ; it consists of flat pieces, `weight`·L − `fading`·faded − `passed`. This is one of them, with
 * the box of levels in which it is valid.
 *
 * Sums of planes are planes, and so is the greater of two, in a smaller box.
 */
export class Plane {
  weight = 0
  fading = 0
  passed = 0
  lowLevel: number = Number.NEGATIVE_INFINITY
  highLevel: number = Number.POSITIVE_INFINITY
  lowFaded: number = Number.NEGATIVE_INFINITY
  highFaded: number = Number.POSITIVE_INFINITY

  at(level: number, faded: number): number {
    return Math.max(0, this.weight * level - this.fading * faded - this.passed)
  }

  covers(level: number, faded: number): boolean {
    return level >= this.lowLevel && level <= this.highLevel && faded >= this.lowFaded && faded <= this.highFaded
  }

  /** Claims nothing, everywhere. */
  clear(): void {
    this.weight = 0
    this.fading = 0
    this.passed = 0
    this.lowLevel = Number.NEGATIVE_INFINITY
    this.highLevel = Number.POSITIVE_INFINITY
    this.lowFaded = Number.NEGATIVE_INFINITY
    this.highFaded = Number.POSITIVE_INFINITY
  }

  /** Is valid nowhere any more. */
  spoil(): void {
    this.lowLevel = Number.POSITIVE_INFINITY
  }

  /** The rest of the guarantee `weight`·level after `passed` was used, or let pass. */
  claim(weight: number, passed: number, level: number, faded: number): void {
    this.clear()
    const share = passed / weight
    if (level <= share) this.highLevel = share
    else {
      this.weight = weight
      if (faded <= share) {
        this.passed = passed
        this.lowLevel = share
        this.highFaded = share
      } else {
        this.fading = weight
        this.lowFaded = share
      }
    }
  }

  /** Becomes the greater one at this point: itself, or `other`, whose level is `factor` times this one's. */
  raise(other: Plane, factor: number, level: number, faded: number): void {
    // A level that is 0 for every value of this one: there is no claim.
    if (factor === 0) return
    const own = this.at(level, faded)
    const theirs = other.at(factor * level, factor * faded)
    const way = theirs > own ? 1 : -1
    const weight = other.weight * factor - this.weight
    const fading = other.fading * factor - this.fading
    this.shrink(other.lowLevel / factor, other.highLevel / factor, other.lowFaded / factor, other.highFaded / factor)
    // While at most half of the gap is consumed by either coordinate, the greater one stays the greater one.
    const gap = Math.abs(theirs - own) + ROUNDING * level * Math.max(this.weight, other.weight * factor)
    const part = weight !== 0 && fading !== 0 ? gap / 2 : gap
    const up = (way * weight) / part
    const down = (way * fading) / part
    this.shrink(
      up > 0 ? level - 1 / up : Number.NEGATIVE_INFINITY,
      up < 0 ? level - 1 / up : Number.POSITIVE_INFINITY,
      down < 0 ? faded + 1 / down : Number.NEGATIVE_INFINITY,
      down > 0 ? faded + 1 / down : Number.POSITIVE_INFINITY,
    )
    if (theirs > own) {
      this.weight = other.weight * factor
      this.fading = other.fading * factor
      this.passed = other.passed
    }
  }

  /** Becomes another one, whose level is `factor` times this one's. */
  scale(other: Plane, factor: number): void {
    this.clear()
    if (factor === 0) return
    this.weight = other.weight * factor
    this.fading = other.fading * factor
    this.passed = other.passed
    this.shrink(other.lowLevel / factor, other.highLevel / factor, other.lowFaded / factor, other.highFaded / factor)
  }

  /** Adds another one, in the box in which both are valid. */
  add(other: Plane): void {
    this.weight += other.weight
    this.fading += other.fading
    this.passed += other.passed
    this.shrink(other.lowLevel, other.highLevel, other.lowFaded, other.highFaded)
  }

  /** Shrinks the box in which it is valid. */
  shrink(lowLevel: number, highLevel: number, lowFaded: number, highFaded: number): void {
    this.lowLevel = Math.max(this.lowLevel, lowLevel)
    this.highLevel = Math.min(this.highLevel, highLevel)
    this.lowFaded = Math.max(this.lowFaded, lowFaded)
    this.highFaded = Math.min(this.highFaded, highFaded)
  }
}

/**
 * The sum of the claims of all active tenants, as a function of a level and a time.
 *
 * A tenant of weight w that has used or let pass v has r = v/w. Its claim at level λ, when the share τ of the window
 * has passed, is w·min(λ − r, λ(1 − τ)), if above 0. With S(x) the sum of w·x − v over all with r < x, the total is
 * S(λ) − S(λτ): two sums over a ranking by r, for any time. O(log n).
 *
 * A tenant beyond the level claims nothing, whatever more it uses: it keeps its old place in the ranking until a higher
 * level may reach it.
 */
export class Claims {
  readonly #byShare: Ranking = new Ranking('sum')
  /** Those with an old place, by that. */
  readonly #late: Ranking = new Ranking('least')
  /** Their old key, weight and amount, by slot. */
  #amounts: Float64Array = new Float64Array(0)
  /** All below this level have their present places. */
  #level: number = Number.POSITIVE_INFINITY
  #slope = 0

  /** Adds a tenant, or updates it. Returns whether a claim may have changed near the last level. */
  set(slot: number, weight: number, passed: number): boolean {
    const share = passed / weight
    const isLate = this.#late.has(slot)
    const key = isLate ? this.#amounts[3 * slot]! : this.#byShare.keyOf(slot)
    if (key >= this.#level && share >= key) {
      if (!isLate) this.#late.insert(slot, key, 0, 0)
      if (this.#amounts.length <= 3 * slot) this.#amounts = grown(this.#amounts, 6 * (slot + 1), 0)
      this.#amounts[3 * slot] = key
      this.#amounts[3 * slot + 1] = weight
      this.#amounts[3 * slot + 2] = passed
      return false
    }
    if (isLate) this.#late.remove(slot)
    this.#byShare.set(slot, share, weight, passed)
    return true
  }

  /** Removes a tenant, if it is counted. */
  drop(slot: number): void {
    for (const ranking of [this.#late, this.#byShare]) if (ranking.has(slot)) ranking.remove(slot)
  }

  clear(): void {
    this.#byShare.clear()
    this.#late.clear()
    this.#level = Number.POSITIVE_INFINITY
  }

  #reach(level: number): void {
    for (let slot = this.#late.first; slot >= 0 && this.#amounts[3 * slot]! < level; slot = this.#late.first) {
      const [weight, passed] = [this.#amounts[3 * slot + 1]!, this.#amounts[3 * slot + 2]!]
      this.#late.remove(slot)
      this.#byShare.set(slot, passed / weight, weight, passed)
    }
    this.#level = level
  }

  /** The sum of all claims near `level` and `faded`, the part of it that has passed, as a plane. */
  plane(level: number, faded: number, into: Plane): void {
    const ranking = this.#byShare
    this.#reach(level)
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

  /**
   * The least share of the window, from `tau` up to `latest`, at which silent tenants have let enough pass that all
   * claims at `level` except the own one sum to at most `room`; `latest` if there is none. `weight` and `passed` are
   * those of the own claim (weight 0: it is not in the sum).
   */
  fadedBy(level: number, tau: number, latest: number, room: number, weight: number, passed: number): number {
    if (level > this.#level) this.#reach(level)
    const passedAt = (key: number): number => {
      this.#byShare.sumBelow(key)
      const mine = passed < weight * key ? 1 : 0
      this.#slope = this.#byShare.x - mine * weight
      return this.#byShare.x * key - this.#byShare.y - mine * (weight * key - passed)
    }
    const target = passedAt(level) - room
    let key = level * latest
    for (let step = 0; step < MOST_STEPS; step++) {
      const over = passedAt(key) - target
      if (over < 0 || this.#slope <= 0) break
      // The passed amount is convex: from above, Newton's steps never overshoot, and end on the right piece.
      const next = key - over / this.#slope
      if (next <= level * tau) return tau
      if (next >= key) break
      key = next
    }
    return Math.min(latest, key / level)
  }
}

/** The claim of the member at `slot` near this point. The plane is used at once, and may be reused afterwards. */
type PlaneSource = (slot: number, level: number, faded: number) => Plane

/**
 * The claims of a fixed number of members as {@link Plane}s, in a binary tree with their sum at the root, which also
 * finds the members whose planes are not valid at a point. Every node is recomputed from its children, so rounding
 * errors do not accumulate. A change takes O(log n).
 */
export class Planes {
  readonly #count: number
  /** Node 1 is the root, the children of n are 2n and 2n + 1, the members start at `count`. */
  readonly #tree: readonly Plane[]

  constructor(count: number) {
    this.#count = count
    this.#tree = Array.from({ length: 2 * count }, () => new Plane())
  }

  /** Clears all claims. */
  clear(): void {
    for (const plane of this.#tree) plane.clear()
  }

  set(slot: number, plane: Plane): void {
    this.#write(this.#count + slot, plane)
    for (let node = (this.#count + slot) >> 1; node > 0; node >>= 1) this.#pull(node)
  }

  /** Updates all planes that are not valid at this point. */
  update(source: PlaneSource, level: number, faded: number): void {
    this.#update(1, source, level, faded)
  }

  /** Adds the sum of all to `plane`. */
  addTo(plane: Plane): void {
    plane.add(this.#tree[1]!)
  }

  /** Decrease of a member's claim as its level fades. */
  fading(slot: number): number {
    return this.#tree[this.#count + slot]!.fading
  }

  #update(node: number, source: PlaneSource, level: number, faded: number): void {
    if (this.#tree[node]!.covers(level, faded)) return
    if (node >= this.#count) {
      this.#write(node, source(node - this.#count, level, faded))
      return
    }
    this.#update(2 * node, source, level, faded)
    this.#update(2 * node + 1, source, level, faded)
    this.#pull(node)
  }

  #write(node: number, plane: Plane): void {
    const own = this.#tree[node]!
    own.clear()
    own.add(plane)
  }

  #pull(node: number): void {
    this.#write(node, this.#tree[2 * node]!)
    this.#tree[node]!.add(this.#tree[2 * node + 1]!)
  }
}

/**
 * The claims of a group's children: of tenants in a ranking, of groups as planes, each recomputed only when its group
 * changes, or when level or time leave the box in which it is valid.
 */
export class ChildClaims implements LevelledClaims {
  readonly #groups: number
  readonly #source: PlaneSource
  #planes: Planes | undefined
  readonly #sum: Plane = new Plane()
  /** Those of tenants, if there were any. */
  tenants: Claims | undefined
  slope = 0

  /** Of a number of groups, whose planes come from `source`. */
  constructor(groups: number, source: PlaneSource) {
    this.#groups = groups
    this.#source = source
  }

  total(level: number, tau: number): number {
    // There are no claims: planes are not needed.
    if (level <= 0) {
      this.slope = 0
      return 0
    }
    const sum = this.near(level, level * tau)
    this.slope = sum.weight - sum.fading * tau
    return sum.at(level, level * tau)
  }

  /** The sum near this point. */
  near(level: number, faded: number): Plane {
    const sum = this.#sum
    if (sum.covers(level, faded)) return sum
    sum.clear()
    this.tenants?.plane(level, faded, sum)
    this.#planes?.update(this.#source, level, faded)
    this.#planes?.addTo(sum)
    return sum
  }

  setTenant(slot: number, weight: number, passed: number): void {
    this.tenants ??= new Claims()
    if (this.tenants.set(slot, weight, passed)) this.#sum.spoil()
  }

  dropTenant(slot: number): void {
    this.tenants?.drop(slot)
    this.#sum.spoil()
  }

  changeGroup(slot: number, level: number, faded: number): void {
    this.#planes ??= new Planes(this.#groups)
    this.#planes.set(slot, this.#source(slot, level, faded))
    this.#sum.spoil()
  }

  /** Decrease of a group's claim as its level fades. */
  fading(slot: number): number {
    return this.#planes?.fading(slot) ?? 0
  }

  clear(): void {
    this.tenants?.clear()
    this.#planes?.clear()
    this.#sum.clear()
  }
}
