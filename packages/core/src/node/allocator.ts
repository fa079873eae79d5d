/** Bytes allocated, as a share of the limit, after which an older proof counts for a third. */
const MEMORY = 0.1
/** Share of the limit that may be filled up by trusting that what is kept will be used again. */
const HIGHEST = 0.98
/** However well it goes, so much of what is kept is trusted at most. */
const MOST_REUSED = 0.9
/** How much of what is kept is of no use after all, for each byte that the process became larger than it had ever been. */
const RETREAT = 4
/** Part of the way that the base goes down at each sample: what is allocated and not yet touched is not resident either. */
const SETTLE = 0.1

/**
 * How much of a process's resident memory it could use again without becoming larger.
 *
 * What is freed may stay with the allocator, and resident, for good. It is no shortage as far as new allocations are put
 * there. How far they are is measured: which part of what was newly in use did not make the resident set grow. Nothing is
 * believed before it was seen.
 */
export class Allocator {
  /** Bytes that were in use, are not, and are resident still; at least 0. */
  kept = 0
  /** Share of what is allocated that is put where something was freed, from 0 to 1; measured while something is kept. */
  reused = 0

  /** Bytes that the process may have. */
  limitBytes: number = Number.POSITIVE_INFINITY

  #resident: number = Number.NaN
  #inUse = 0
  /** Resident and not in use, and of no use to what is allocated: the program itself, and what is left in between. */
  #base = 0
  #peak: number = Number.NEGATIVE_INFINITY

  /** Takes the bytes that are resident, and those that the engine has in use for objects and buffers. */
  sample(resident: number, inUse: number): void {
    const allocated = inUse - this.#inUse
    const grown = resident - this.#resident
    const peak = this.#peak
    this.#resident = resident
    this.#inUse = inUse
    const slack = resident - inUse
    this.#peak = Math.max(this.#peak, resident)
    if (Number.isNaN(grown)) {
      this.#base = slack
      return
    }
    const above = resident - peak
    if (slack < this.#base) this.#base += SETTLE * (slack - this.#base)
    else if (above > 0) this.#base = Math.min(slack, this.#base + RETREAT * above)
    if (allocated > 0 && this.kept > 0) {
      const proof = Math.min(MOST_REUSED, 1 - Math.max(0, grown) / allocated)
      this.reused += (Math.max(0, proof) - this.reused) * -Math.expm1(-allocated / (MEMORY * this.limitBytes))
    }
    // What makes the process larger without being in use is no allocator's.
    const kept = this.kept + Math.min(grown - allocated, Math.max(0, -allocated))
    this.kept = Math.max(0, Math.min(kept, slack - this.#base))
  }

  /**
   * `share` of the limit in use, less what can be used again. Of each byte allocated, 1 - `reused` is new: so however
   * much is kept, what is left of the limit is enough for (1 - share) / (1 - reused).
   */
  load(share: number): number {
    const left = 1 - share / HIGHEST
    if (left <= 0) return share
    return Math.min(share, Math.max(share - (this.reused * this.kept) / this.limitBytes, 1 - left / (1 - this.reused)))
  }
}
