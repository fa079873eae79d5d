/** How much faster it is given up than the resident set rises in spite of it. */
const RETREAT = 4

/**
 * Bytes that the allocator keeps of what the engine freed. They are resident, and the next request uses them.
 *
 * The engine knows what it frees. As far as the resident set does not fall with it, that has stayed with the
 * allocator; as far as the engine takes more and the resident set does not rise, it came from there. Memory that the
 * engine does not know of counts as used. Should the resident set rise by itself, what is kept is not fit for what is
 * asked, and is trusted less.
 */
export class KeptMemory {
  bytes = 0

  #engine: number = Number.NaN
  #resident: number = Number.NaN

  sample(engine: number, resident: number): void {
    const taken = engine - this.#engine
    const risen = resident - this.#resident
    this.#engine = engine
    this.#resident = resident
    if (Number.isNaN(taken)) return
    if (taken < 0) this.bytes += Math.max(0, Math.min(-taken, risen - taken))
    else this.bytes -= Math.max(0, taken - Math.max(0, risen))
    // Given back to the system, though the engine freed nothing now.
    if (risen < 0) this.bytes -= Math.max(0, -risen + Math.min(0, taken))
    if (risen > Math.max(0, taken)) this.bytes -= RETREAT * (risen - Math.max(0, taken))
    this.bytes = Math.max(0, Math.min(this.bytes, resident - engine))
  }
}
