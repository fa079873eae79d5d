/** Flows of one kind: who asks, how often, when. Everything is in seconds; arrivals are Poisson unless said. */
export interface Crowd {
  readonly name: string
  readonly flows: number
  /** Requests per second of one flow while it is on; with `zipf`, of an average one. */
  readonly rate: number
  /** Exponent: the k-th flow asks k^−zipf times as often as the first. */
  readonly zipf?: number
  /** When the flows are there. All the time unless given. */
  readonly between?: readonly [from: number, to: number]
  /** Silent and active in turns, active first: all at once, or `apart`, each beginning somewhere in its turn. */
  readonly bursts?: { readonly on: number; readonly off: number; readonly apart?: boolean }
  /** At even intervals instead of Poisson's, each flow beginning somewhere in its first one. */
  readonly even?: boolean
  /** Mean cost of a request, exponential. All cost exactly 1 unless given. */
  readonly cost?: number
  /** 1 unless given. */
  readonly weight?: number
  /** A flow takes a new name after this number of requests. */
  readonly renamedAfter?: number
  /** They are the flows of the crowd before, under the same names, of which there are as many. */
  readonly continues?: boolean
}

/** Workers that are busy for an exponential time per unit of cost. */
export interface Workers {
  readonly kind: 'pool'
  readonly workers: number
  /** Mean seconds per unit of cost. */
  readonly busy: number
  /** So many may wait for a worker, first come, first served; whoever finds the line full fails at once. 0 if absent. */
  readonly line?: number
  /** For this number of seconds; then they fail. For ever if absent. */
  readonly patience?: number
}

/** What they share. Whoever finds nothing left fails. */
export type Resource =
  /** A token bucket that starts full. */
  { readonly kind: 'bucket'; readonly rate: number; readonly burst: number } | Workers

export interface Scenario {
  readonly name: string
  readonly seconds: number
  readonly resource: Resource
  readonly crowds: readonly Crowd[]
  /** From a time on the resource is a multiple of what it is above. */
  readonly steps?: readonly { readonly at: number; readonly times: number }[]
  /** How reports come back: late by `delay` to `delay + spread` seconds, so out of order; a part of them never. */
  readonly reports?: { readonly delay?: number; readonly spread?: number; readonly lost?: number }
  /** This part of all requests that are let in fails whatever there is, from one time to another. */
  readonly unrelated?: { readonly share: number; readonly between: readonly [from: number, to: number] }
  /** The controller's clock jumps by this number of seconds. */
  readonly jumps?: readonly { readonly at: number; readonly by: number }[]
}

/** What the resource can give per second, before any step. */
export function capacityOf({ resource }: Scenario): number {
  return resource.kind === 'bucket' ? resource.rate : resource.workers / resource.busy
}
