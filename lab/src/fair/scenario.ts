/**
 * Flows of one kind: their number, rate and times. Everything is in seconds; arrivals are Poisson unless stated
 * otherwise.
 */
export interface Crowd {
  readonly name: string
  readonly flows: number
  /** Requests per second of one flow while it is on; with `zipf`, of an average one. */
  readonly rate: number
  /** Exponent: the k-th flow asks k^−zipf times as often as the first. */
  readonly zipf?: number
  /** When the flows are present. All the time unless given. */
  readonly between?: readonly [from: number, to: number]
  /** Active and silent periods in turns, active first: all at once, or `apart`, each with a random phase. */
  readonly bursts?: { readonly on: number; readonly off: number; readonly apart?: boolean }
  /** At even intervals instead of Poisson arrivals, each flow with a random phase. */
  readonly even?: boolean
  /** Mean cost of a request, exponential. All cost exactly 1 unless given. */
  readonly cost?: number
  /** 1 unless given. */
  readonly weight?: number
  /** A flow takes a new name after this number of requests. */
  readonly renamedAfter?: number
  /** The flows are those of the crowd before, under the same names and in the same number. */
  readonly continues?: boolean
}

/** Workers that are busy for an exponential time per unit of cost. */
export interface Workers {
  readonly kind: 'pool'
  readonly workers: number
  /** Mean seconds per unit of cost. */
  readonly busy: number
  /**
   * Requests that may wait for a worker, first come, first served; a request that finds the queue full fails at once. 0
   * if absent.
   */
  readonly line?: number
  /** A request waits for at most this number of seconds and then fails. For ever if absent. */
  readonly patience?: number
}

/** The shared resource. A request that finds it exhausted fails. */
export type Resource =
  /** A token bucket that starts full. */
  { readonly kind: 'bucket'; readonly rate: number; readonly burst: number } | Workers

export interface Scenario {
  readonly name: string
  readonly seconds: number
  readonly resource: Resource
  readonly crowds: readonly Crowd[]
  /** From a time on, the capacity is a multiple of its initial value. */
  readonly steps?: readonly { readonly at: number; readonly times: number }[]
  /** Delays of reports: by `delay` to `delay + spread` seconds, so out of order; a part of them is lost. */
  readonly reports?: { readonly delay?: number; readonly spread?: number; readonly lost?: number }
  /** This part of all admitted requests fails regardless of load, from one time to another. */
  readonly unrelated?: { readonly share: number; readonly between: readonly [from: number, to: number] }
  /** The controller's clock jumps by this number of seconds. */
  readonly jumps?: readonly { readonly at: number; readonly by: number }[]
}

/** Capacity per second, before any step. */
export function capacityOf({ resource }: Scenario): number {
  return resource.kind === 'bucket' ? resource.rate : resource.workers / resource.busy
}
