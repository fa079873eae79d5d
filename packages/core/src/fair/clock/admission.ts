/** What a request carries from its admission to its outcome. */
export interface Admission {
  /** Which request it was of all that were admitted, from 1. */
  readonly serial: number
  /** When it was admitted, in seconds of the clock's own time. */
  readonly at: number
  /** The cost of all that had been admitted by then, itself included. */
  readonly total: number
}

/** An admission that is written down anew for each request. */
export type AdmissionNote = { -readonly [name in keyof Admission]: Admission[name] }
