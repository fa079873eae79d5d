import type { DoormanServerNotice } from '../server/index.js'

/** The methods of a logger that a server calls; those of pino fit. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Shortest time between two lines about one kind, in milliseconds. */
const QUIET_MS = 10_000

const SENTENCES: Readonly<Record<DoormanServerNotice['kind'], string>> = {
  unmatched: 'no template matches a name that was asked for',
  duplicate: 'two processes go by the same client id',
  full: 'a new client was refused: the server is full',
}

/** Counts a server's notices, and logs each kind at intervals with its last example. */
export class Notices {
  readonly counts: Record<DoormanServerNotice['kind'], number> = { unmatched: 0, duplicate: 0, full: 0 }
  readonly #log: Log
  readonly #clock: () => number
  readonly #told: Record<DoormanServerNotice['kind'], { atMs: number; count: number }>

  constructor(log: Log, clock: () => number) {
    this.#log = log
    this.#clock = clock
    const never = { atMs: Number.NEGATIVE_INFINITY, count: 0 }
    this.#told = { unmatched: never, duplicate: never, full: never }
  }

  take(notice: DoormanServerNotice): void {
    const { kind, ...about } = notice
    const count = ++this.counts[kind]
    const told = this.#told[kind]
    const atMs = this.#clock()
    if (atMs - told.atMs < QUIET_MS) return
    this.#told[kind] = { atMs, count }
    this.#log.warn({ ...about, times: count - told.count }, SENTENCES[kind])
  }
}
