/**
 * The parts of the console for pages of your own: its sentence, its river, its curves, drawn from the frames that a
 * console tells, or from frames of a simulation.
 *
 * @module @fairlead/console/views
 */
import { show } from '@fairlead/core/internal'
import { STYLE_OF_VIEWS } from '#assets'
import { drawInto, NAMES, textOf } from '#views'
import type { Views } from './views/props.js'

export type { Frame, RefusalFrame, SignalFrame } from './frame.js'
export type {
  BarProps,
  ChartProps,
  FramesProps,
  LinesProps,
  RefusalsProps,
  SignalsProps,
  Views,
} from './views/props.js'

/** An element of a page. */
export interface Place {
  readonly nodeType: number
}

/**
 * What the views look like, in light and dark: rules for the class `fairlead` and what is inside, which leave the rest
 * of a page alone.
 */
export const VIEWS_STYLE: string = STYLE_OF_VIEWS

/**
 * Draws a view into an element, which has nothing else inside; called again, it changes what is different. `null`
 * takes it away. Throws a `TypeError` for a view that there is not.
 */
export function drawView<Name extends keyof Views>(place: Place, view: Name, props: Views[Name] | null): void {
  requireView(view)
  drawInto(place, view, props)
}

/**
 * A view as HTML, for pages without scripts; it belongs inside an element of class `fairlead`. All that comes from
 * `props` is escaped. Charts need a `width`. Throws a `TypeError` for a view that there is not.
 */
export function viewAsHtml<Name extends keyof Views>(view: Name, props: Views[Name]): string {
  requireView(view)
  return textOf(view, props)
}

function requireView(view: string): void {
  if (!NAMES.includes(view)) throw new TypeError(`view must be one of ${NAMES.join(', ')}, got ${show(view)}`)
}
