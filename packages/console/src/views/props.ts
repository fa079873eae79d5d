import type { Frame, RefusalFrame, SignalFrame } from '../frame.js'

/** Frames of a gate, the oldest first, a second each, as a console tells them. */
export interface FramesProps {
  readonly frames: readonly Frame[]
}

/** A chart over time. */
export interface ChartProps extends FramesProps {
  /** Time that it shows, in milliseconds. @default 120 000 */
  readonly spanMs?: number
  /** Width in pixels, where there is no page to measure. @default that of its place */
  readonly width?: number
}

/** The last refusals, the newest first. */
export interface RefusalsProps {
  readonly refusals: readonly RefusalFrame[]
}

/** Signals that are shed by. */
export interface SignalsProps {
  readonly signals: readonly SignalFrame[]
  /** Width of each curve in pixels, where there is no page to measure. @default that of its place */
  readonly width?: number
}

/** A bar: of amounts that belong together. */
export interface BarProps {
  /** Drawn one over the other. */
  readonly parts: readonly {
    readonly value: number
    /** Any of CSS. */
    readonly colour: string
    /** Where the part begins. @default 0 */
    readonly from?: number
    /** Paler, as what was only asked for. @default false */
    readonly faint?: boolean
  }[]
  /** The amount at the bar's end. */
  readonly most: number
  /** An amount to be marked. @default none */
  readonly mark?: number
  /** What it says, for those who do not see it. @default nothing: the same stands beside it */
  readonly label?: string
}

/** Lines that need no axes. */
export interface LinesProps {
  /** The newest value at the right. */
  readonly lines: readonly { readonly values: readonly number[]; readonly colour: string }[]
  /** In pixels. @default 90 */
  readonly width?: number
  /** In pixels. @default 22 */
  readonly height?: number
  /** What it says, for those who do not see it. @default nothing: the same stands beside it */
  readonly label?: string
}

/** All views by name, and what each is given. */
export interface Views {
  /** Is something short, of what, since when, who asks for most, and what do quiet flows get. */
  readonly state: FramesProps
  /** What was served and refused, by flow. */
  readonly river: ChartProps
  /** What each of the flows that ask for most asked, may have, got and lost. */
  readonly flows: FramesProps
  /** Who waits in the queue, and how long the oldest has. */
  readonly waiting: FramesProps
  /** How much there is, and how much of it is used. */
  readonly capacity: ChartProps
  /** Where the load stands on the curve of each signal. */
  readonly shedding: SignalsProps
  /** Who used how much of the window. */
  readonly budget: FramesProps
  /** The last refusals in words. */
  readonly refusals: RefusalsProps
  /** All processes with this gate. */
  readonly processes: FramesProps
  readonly bar: BarProps
  readonly lines: LinesProps
}
