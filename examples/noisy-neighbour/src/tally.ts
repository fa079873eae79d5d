import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import type { Answer } from './client.js'
import type { Client, Manner } from './population.js'

/** The results of one client's requests. */
export interface ClientTally {
  asked: number
  served: number
  /** 429: refused because this client causes the shortage. */
  refusedUnfair: number
  /** 503: refused because there was not enough. */
  refusedShort: number
  /** No answer in time, a broken connection, or an answer that this server never gives. */
  lost: number
  /** Served requests by time of answer, one count per {@link BIN_MS}. */
  readonly servedInBin: number[]
}

export const BIN_MS = 500

/** Counts the results of one phase's requests. */
export class Tally {
  readonly clients: readonly Client[]
  readonly byClient: readonly ClientTally[]
  /** Microseconds from a request's due time to its answer, for served requests. */
  readonly latencyUs: Readonly<Record<Manner, RecordableHistogram>> = {
    quiet: createHistogram(),
    heavy: createHistogram(),
  }
  /** Delay with which requests were sent, in microseconds; if it is large, the figures mean little. */
  readonly lateUs: RecordableHistogram = createHistogram()
  #lastAnswerMs = 0

  constructor(clients: readonly Client[]) {
    this.clients = clients
    this.byClient = clients.map(() => ({
      asked: 0,
      served: 0,
      refusedUnfair: 0,
      refusedShort: 0,
      lost: 0,
      servedInBin: [],
    }))
  }

  /** Time of the last answer, in seconds since the phase began. */
  get seconds(): number {
    return this.#lastAnswerMs / 1_000
  }

  asked(client: number, lateMs: number): void {
    this.byClient[client]!.asked++
    this.lateUs.record(microseconds(lateMs))
  }

  /** `dueMs` and `answer.atMs` count from the start of the phase. */
  answered(client: number, dueMs: number, { status, atMs }: Answer): void {
    const tally = this.byClient[client]!
    this.#lastAnswerMs = Math.max(this.#lastAnswerMs, atMs)
    if (status === 200) {
      tally.served++
      const bin = Math.floor(atMs / BIN_MS)
      tally.servedInBin[bin] = (tally.servedInBin[bin] ?? 0) + 1
      this.latencyUs[this.clients[client]!.manner].record(microseconds(atMs - dueMs))
    } else if (status === 429) tally.refusedUnfair++
    else if (status === 503) tally.refusedShort++
    else tally.lost++
  }
}

/** A histogram accepts whole numbers from 1 on. */
function microseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1_000))
}
