import type { Outcome } from '../admission/outcome.js'
import { requireInteger } from '../options.js'
import type { Capacity } from './capacity.js'
import { Slots } from './slots.js'

/** Slots of a {@link fixed} capacity, and how many are taken. */
export interface FixedSnapshot {
  kind: 'fixed'
  limit: number
  inFlight: number
}

/** A capacity that stays as it is until you `resize` it: `limit` slots, an integer of at least 1. Learns nothing; O(1), allocates nothing. */
export function fixed(limit: number): FixedCapacity {
  requireInteger('limit', limit, 1)
  return new FixedCapacity(limit)
}

/** Made by {@link fixed}. */
export class FixedCapacity implements Capacity {
  readonly #slots: Slots = new Slots()
  #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get limit(): number {
    return this.#limit
  }

  get maximum(): number {
    return this.#limit
  }

  /** Changes the limit while it is in use, an integer of at least 1. What runs is not touched. */
  resize(limit: number): void {
    requireInteger('limit', limit, 1)
    const grows = limit > this.#limit
    this.#limit = limit
    if (grows) this.#slots.tell()
  }

  get inFlight(): number {
    return this.#slots.inFlight
  }

  tryTake(width: number, _nowMs: number): boolean {
    return this.#slots.tryTake(width, this.limit, this.limit)
  }

  release(width: number, _outcome: Outcome, _durationMs: number, _nowMs: number): void {
    if (this.#slots.giveBack(width)) this.#slots.tell()
  }

  undo(width: number, _nowMs: number): void {
    if (this.#slots.giveBack(width)) this.#slots.tell()
  }

  onAvailable(listener: () => void): () => void {
    return this.#slots.onAvailable(listener)
  }

  snapshot(): FixedSnapshot {
    return { kind: 'fixed', limit: this.limit, inFlight: this.inFlight }
  }
}
