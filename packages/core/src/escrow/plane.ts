/** What rounding may make of a claim, relative to the guarantee: planes that near are one. */
const ROUNDING = 1e-15

/**
 * What somebody claims, near a point. A claim depends on the level L that guarantees are worked out from, and on the
 * part of it that has passed with time, `faded` = L·τ; it is made of flat pieces, `weight`·L − `fading`·faded −
 * `passed`. This is one of them, and the box of levels in which it is the right one.
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

  /** Claims nothing, anywhere. */
  clear(): void {
    this.weight = 0
    this.fading = 0
    this.passed = 0
    this.lowLevel = Number.NEGATIVE_INFINITY
    this.highLevel = Number.POSITIVE_INFINITY
    this.lowFaded = Number.NEGATIVE_INFINITY
    this.highFaded = Number.POSITIVE_INFINITY
  }

  /** Is right nowhere any more. */
  spoil(): void {
    this.lowLevel = Number.POSITIVE_INFINITY
  }

  /** What is left of the guarantee `weight`·level of somebody who has used, or let pass, `passed`. */
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
    // A level that is nothing whatever this one is: nothing is claimed there.
    if (factor === 0) return
    const own = this.at(level, faded)
    const theirs = other.at(factor * level, factor * faded)
    const way = theirs > own ? 1 : -1
    const weight = other.weight * factor - this.weight
    const fading = other.fading * factor - this.fading
    this.shrink(other.lowLevel / factor, other.highLevel / factor, other.lowFaded / factor, other.highFaded / factor)
    // As long as the gap is not used up, half of it by either coordinate, the greater one stays the greater one.
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

  /** Is right in a smaller box only. */
  shrink(lowLevel: number, highLevel: number, lowFaded: number, highFaded: number): void {
    this.lowLevel = Math.max(this.lowLevel, lowLevel)
    this.highLevel = Math.min(this.highLevel, highLevel)
    this.lowFaded = Math.max(this.lowFaded, lowFaded)
    this.highFaded = Math.min(this.highFaded, highFaded)
  }
}
