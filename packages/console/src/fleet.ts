import type { After, Gate } from '@fairlead/core'
import type { ProcessFrame } from './frame.js'
import type { FleetLink } from './options.js'
import { isJson, numberOf } from './stage-frames.js'
import { cut, LONGEST_WORD } from './told.js'

const EVERY_MS = 1_000
/** A process that has written nothing for this time counts as gone. */
const GONE_MS = 5_000

/** Writes the state of this process's gate for the other processes, and reads theirs. */
export class Fleet {
  readonly #gate: Gate
  readonly #link: FleetLink
  readonly #process: string
  readonly #timeOfDay: () => number
  readonly #after: After
  #cancel: () => void
  #others: ProcessFrame[] = []
  #before: { readonly atMs: number; readonly admitted: number; readonly refused: number }

  constructor(gate: Gate, link: FleetLink, process: string, timeOfDay: () => number, after: After) {
    this.#gate = gate
    this.#link = link
    this.#process = process
    this.#timeOfDay = timeOfDay
    this.#after = after
    const { admitted, refused } = gate.snapshot()
    this.#before = { atMs: timeOfDay(), admitted, refused }
    this.#cancel = after(EVERY_MS, () => this.#tell())
  }

  close(): void {
    this.#cancel()
  }

  /** The latest known state of all processes; also requests the next one. */
  others(): readonly ProcessFrame[] {
    void this.#read()
    const nowMs = this.#timeOfDay()
    return this.#others.filter(({ atMs }) => Math.abs(nowMs - atMs) < GONE_MS)
  }

  #tell(): void {
    this.#cancel = this.#after(EVERY_MS, () => this.#tell())
    void this.#write()
  }

  #frame(): ProcessFrame {
    const { admitted, refused, inFlight, waiting, stages } = this.#gate.snapshot()
    const atMs = this.#timeOfDay()
    const before = this.#before
    const seconds = Math.max(1e-3, (atMs - before.atMs) / 1_000)
    this.#before = { atMs, admitted, refused }
    const { fair } = stages
    return {
      process: this.#process,
      atMs,
      admittedPerSecond: (admitted - before.admitted) / seconds,
      refusedPerSecond: (refused - before.refused) / seconds,
      inFlight,
      waiting,
      engaged: isJson(fair) && fair['engaged'] === true,
    }
  }

  /** If the link or a stage fails, it is retried in a second: until then, the others see an older frame, or none. */
  async #write(): Promise<void> {
    try {
      await this.#link.write(this.#process, JSON.stringify(this.#frame()))
    } catch {
      // See above.
    }
  }

  async #read(): Promise<void> {
    try {
      const words = await this.#link.read()
      this.#others = words.flatMap((word) => processFrame(word) ?? []).sort((a, b) => (a.process < b.process ? -1 : 1))
    } catch {
      // See above.
    }
  }
}

/** Frames of other processes may have any form, so they are checked. */
function processFrame(word: string): ProcessFrame | undefined {
  let said: unknown
  try {
    said = JSON.parse(word)
  } catch {
    return undefined
  }
  if (!isJson(said) || typeof said['process'] !== 'string') return undefined
  return {
    process: cut(said['process'], LONGEST_WORD),
    atMs: numberOf(said['atMs']) ?? 0,
    admittedPerSecond: numberOf(said['admittedPerSecond']) ?? 0,
    refusedPerSecond: numberOf(said['refusedPerSecond']) ?? 0,
    inFlight: numberOf(said['inFlight']) ?? 0,
    waiting: numberOf(said['waiting']) ?? 0,
    engaged: said['engaged'] === true,
  }
}
