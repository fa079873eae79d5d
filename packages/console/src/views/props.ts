import type { Frame, RefusalFrame, SignalFrame } from '../frame.js'

/** A console's frames of a gate, oldest first, one per second. */
export interface FramesProps {
  readonly frames: readonly Frame[]
}

/** A chart over time. */
export interface ChartProps extends FramesProps {
  /** Time span of the chart, in milliseconds. @default 120 000 */
  readonly spanMs?: number
  /** Width in pixels, for rendering without a page. @default that of its place */
  readonly width?: number
}

/** The last refusals, newest first. */
export interface RefusalsProps {
  readonly refusals: readonly RefusalFrame[]
}

/** Signals for load shedding. */
export interface SignalsProps {
  readonly signals: readonly SignalFrame[]
  /** Width of each curve in pixels, for rendering without a page. @default that of its place */
  readonly width?: number
}

/** A bar of related amounts. */
export interface BarProps {
  /** Drawn on top of each other. */
  readonly parts: readonly {
    readonly value: number
    /** A CSS colour. */
    readonly colour: string
    /** Start of the part. @default 0 */
    readonly from?: number
    /** Paler, for amounts that were only asked for. @default false */
    readonly faint?: boolean
  }[]
  /** The amount at the end of the bar. */
  readonly most: number
  /** An amount to mark. @default none */
  readonly mark?: number
  /** Text for screen readers. @default none: the same text stands beside it */
  readonly label?: string
}

/** Curves without axes. */
export interface LinesProps {
  /** The newest value on the right. */
  readonly lines: readonly { readonly values: readonly number[]; readonly colour: string }[]
  /** In pixels. @default 90 */
  readonly width?: number
  /** In pixels. @default 22 */
  readonly height?: number
  /** Text for screen readers. @default none: the same text stands beside it */
  readonly label?: string
}

/** All views by name, with their props. */
export interface Views {
  /**
   * The state in a sentence: whether a resource is short, which one, since when, which flows ask for the most, and what
   * quiet flows get.
   */
  readonly state: FramesProps
  /** Service and refusals, by flow. */
  readonly river: ChartProps
  /** Demand, share, service and losses of each of the flows that ask for the most. */
  readonly flows: FramesProps
  /** The flows that wait in the queue, and the age of the oldest request. */
  readonly waiting: FramesProps
  /** The capacity, and the part in use. */
  readonly capacity: ChartProps
  /** The position of the load on each signal's curve. */
  readonly shedding: SignalsProps
  /** Each tenant's use of the window. */
  readonly budget: FramesProps
  /** The last refusals in words. */
  readonly refusals: RefusalsProps
  /** All processes with this gate. */
  readonly processes: FramesProps
  readonly bar: BarProps
  readonly lines: LinesProps
}
