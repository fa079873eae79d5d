/**
 * A console's message to its viewers, once a second. Costs are in the units of the gate and belong to the frame's own
 * time unless a name says otherwise; flows have the names that viewers may see.
 */
export interface Frame {
  readonly gate: string
  /** This process, in the panel of the fleet. */
  readonly process: string
  /** Time of day, in milliseconds. */
  readonly atMs: number
  /** Length of the frame's time, in seconds. */
  readonly seconds: number
  readonly closed: boolean
  /** Cost of requests decided, succeeded, refused and failed. */
  readonly asked: number
  readonly served: number
  readonly refused: number
  readonly failed: number
  /** Requests. */
  readonly inFlight: number
  readonly waiting: number
  readonly stageErrors: number
  /** Refusals of this frame by `stage:reason`, in requests. */
  readonly refusedBy: Readonly<Record<string, number>>
  /** Number of flows that asked within the last one or two minutes; approximate if there are many. */
  readonly flowCount: number
  /** The flows that ask for most: at most 32. */
  readonly flows: readonly FlowFrame[]
  /** Waits of the last ten seconds or so, by stage; and how long requests ran. */
  readonly waits: Readonly<Record<string, Quantiles>>
  readonly durations: Quantiles
  /** A sample of this frame's refusals, at most 8. */
  readonly refusals: readonly RefusalFrame[]
  readonly fair: FairFrame | null
  readonly queue: QueueFrame | null
  readonly shed: readonly SignalFrame[]
  readonly budget: BudgetFrame | null
  readonly lease: LeaseFrame | null
  readonly overrides: readonly OverrideFrame[]
  /** Other processes with the same gate, if the console has a link to them. */
  readonly fleet: readonly ProcessFrame[]
}

/** Times in milliseconds, to 5 %; `count` fades. */
export interface Quantiles {
  readonly count: number
  readonly p50: number
  readonly p99: number
}

/** One of the flows that ask for the most. */
export interface FlowFrame {
  readonly flow: string
  readonly asked: number
  readonly served: number
  readonly refused: number
  readonly failed: number
  readonly weight: number
  /** Ordinary requests by which it lags behind FAIR's clock; null if FAIR does not know. */
  readonly credit: number | null
  readonly wait: Quantiles
}

/** A refusal, as the client received it. */
export interface RefusalFrame {
  readonly id: number
  readonly atMs: number
  readonly flow: string
  readonly stage: string
  readonly reason: string
  /** Null: for ever. */
  readonly retryAfterMs: number | null
  readonly detail: Readonly<Record<string, unknown>>
}

/** FAIR's state of the resource. */
export interface FairFrame {
  readonly engaged: boolean
  readonly looking: boolean
  readonly fairRatePerSecond: number | null
  readonly capacityPerSecond: number | null
  readonly failureShare: number
  readonly backgroundFailureShare: number
  /** Number of processes that share the clock, and this process's part of all admissions. */
  readonly sharing: { readonly members: number; readonly part: number; readonly ageMs: number } | null
}

/** The queue: the waiting flows, and the slots. */
export interface QueueFrame {
  readonly waiting: number
  readonly running: number
  readonly drainPerSecond: number | null
  readonly flows: readonly {
    readonly flow: string
    readonly waiting: number
    readonly oldestMs: number
    readonly running: number
  }[]
  readonly capacity: {
    readonly kind: string
    readonly limit: number | null
    readonly inFlight: number
    readonly climbing: boolean
    readonly looking: boolean
  } | null
}

/** A signal of the shedder. */
export interface SignalFrame {
  readonly name: string
  readonly from: number
  readonly to: number
  readonly load: number | null
  readonly reserved: number
  readonly probability: number
  /** For priorities -2 to 2. */
  readonly probabilities: readonly number[]
  readonly curve: readonly number[]
  readonly problem: string | null
}

/** A budget's window. */
export interface BudgetFrame {
  readonly limit: number
  readonly used: number
  readonly windowMs: number
  readonly tenants: number | null
  readonly borrowed: number | null
  readonly storeErrors: number
  readonly heaviest: readonly {
    readonly tenant: string
    readonly used: number
    readonly guarantee: number
    readonly waiting: boolean
  }[]
}

/** A Doorman lease, of the gate or of its queue. */
export interface LeaseFrame {
  readonly id: string
  readonly capacity: number | null
  readonly wants: number | null
  readonly by: string
  readonly endsInMs: number | null
}

/** An override of a flow. */
export interface OverrideFrame {
  readonly flow: string
  readonly kind: string
  readonly factor: number
  readonly costPerSecond: number | null
  readonly leftMs: number
}

/** A process's message to the others. */
export interface ProcessFrame {
  readonly process: string
  readonly atMs: number
  readonly admittedPerSecond: number
  readonly refusedPerSecond: number
  readonly inFlight: number
  readonly waiting: number
  readonly engaged: boolean
}

/** The requests that ended within a frame, for a replay: five numbers for each, in the order of {@link RECORDED}. */
export interface RecordFrame {
  readonly names: readonly string[]
  readonly weights: readonly number[]
  readonly rows: readonly number[]
  /** Requests that did not fit. */
  readonly dropped: number
}

/** Numbers of a row: an index of `names`, the time of the request (time of day), cost, outcome as below, duration. */
export const RECORDED = 5
export const OUTCOMES = ['success', 'failure', 'ignored', 'refused'] as const
