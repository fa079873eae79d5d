import { DurationHistogram, keyedHash, keyFrom, type Words } from '@fairlead/core/internal'

/** Number of flows that are watched individually. */
const WATCHED = 32
/** Half-life of earlier demand. */
const HALVE_MS = 10_000

/** One flow's demand and service since {@link HeavyFlows.next}. */
export class HeavyFlow {
  flow = ''
  asked = 0
  served = 0
  refused = 0
  failed = 0
  /** Recent waits. */
  readonly waits: DurationHistogram = new DurationHistogram()
  /** Recent demand; an upper bound, because it includes the count of the flow whose place it took. */
  lately = 0

  begin(flow: string, lately: number): void {
    this.flow = flow
    this.lately = lately
    this.waits.clear()
    this.next()
  }

  next(): void {
    this.asked = 0
    this.served = 0
    this.refused = 0
    this.failed = 0
  }
}

/**
 * The flows that ask for the most, in constant memory: a flow that is not watched takes the place, and the count, of
 * the flow with the least recent demand. So a flow with more than a 32nd of the demand is always among them.
 *
 * @see A. Metwally, D. Agrawal, A. El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams",
 * ICDT 2005: Space-Saving
 */
export class HeavyFlows {
  readonly #flows = new Map<string, HeavyFlow>()
  #halvedAtMs: number

  constructor(nowMs: number) {
    this.#halvedAtMs = nowMs
  }

  /** A flow asks for `cost`; returns its record. */
  asks(flow: string, cost: number): HeavyFlow {
    const record = this.#flows.get(flow) ?? this.#admit(flow)
    record.lately += cost
    record.asked += cost
    return record
  }

  /** The record of a watched flow. */
  get(flow: string): HeavyFlow | undefined {
    return this.#flows.get(flow)
  }

  all(): Iterable<HeavyFlow> {
    return this.#flows.values()
  }

  /** A new frame begins. */
  next(nowMs: number): void {
    const halve = nowMs - this.#halvedAtMs >= HALVE_MS
    if (halve) this.#halvedAtMs = nowMs
    for (const record of this.#flows.values()) {
      record.next()
      if (!halve) continue
      record.lately /= 2
      record.waits.fade(0.5)
    }
  }

  #admit(flow: string): HeavyFlow {
    let least: HeavyFlow | undefined
    if (this.#flows.size >= WATCHED)
      for (const each of this.#flows.values()) if (least === undefined || each.lately < least.lately) least = each
    if (least !== undefined) this.#flows.delete(least.flow)
    const record = least ?? new HeavyFlow()
    record.begin(flow, record.lately)
    this.#flows.set(flow, record)
    return record
  }
}

const REGISTERS = 1_024
const MINUTE_MS = 60_000
/** Number of flows that are counted exactly. */
const EXACT = 512

/** The flows of a minute: their hashes while there are few, and the sketch. */
class Minute {
  readonly hashes = new Set<number>()
  readonly registers: Uint8Array = new Uint8Array(REGISTERS)

  add({ a, b }: Words): void {
    if (this.hashes.size < EXACT) this.hashes.add((a >>> 0) * 0x10_0000 + (b & 0xf_ffff))
    const register = a & (REGISTERS - 1)
    const rank = Math.clz32(b) + 1
    if (rank > this.registers[register]!) this.registers[register] = rank
  }

  clear(): void {
    this.hashes.clear()
    this.registers.fill(0)
  }
}

/**
 * Counts flows in some kB of memory: exactly up to 511, within 3 % beyond. It counts the flows of the present minute
 * and the one before.
 *
 * @see P. Flajolet, É. Fusy, O. Gandouet, F. Meunier, "HyperLogLog", AofA 2007
 */
export class FlowCount {
  readonly #key: Words
  readonly #hash: Words = { a: 0, b: 0 }
  #present = new Minute()
  #before = new Minute()
  #sinceMs: number

  constructor(nowMs: number, random: () => number) {
    this.#key = keyFrom(random)
    this.#sinceMs = nowMs
  }

  add(flow: string): void {
    keyedHash(flow, this.#key, this.#hash)
    this.#present.add(this.#hash)
  }

  at(nowMs: number): number {
    if (nowMs - this.#sinceMs >= MINUTE_MS) {
      this.#sinceMs = nowMs
      const old = this.#before
      this.#before = this.#present
      this.#present = old
      old.clear()
    }
    const known = new Set([...this.#present.hashes, ...this.#before.hashes])
    if (this.#present.hashes.size < EXACT && this.#before.hashes.size < EXACT) return known.size
    let sum = 0
    let empty = 0
    for (let i = 0; i < REGISTERS; i++) {
      const rank = Math.max(this.#present.registers[i]!, this.#before.registers[i]!)
      sum += 2 ** -rank
      if (rank === 0) empty++
    }
    const estimate = ((0.7213 / (1 + 1.079 / REGISTERS)) * REGISTERS ** 2) / sum
    return Math.round(estimate < 2.5 * REGISTERS && empty > 0 ? REGISTERS * Math.log(REGISTERS / empty) : estimate)
  }
}
