/**
 * The parts of the console for your own pages: its sentence, its river, its curves, drawn from a console's frames or
 * from a simulation's.
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
export interface ViewPlace {
  readonly nodeType: number
}

/**
 * The views' style, in light and dark: rules for the class `fairlead` and its contents, which do not affect the rest of
 * a page.
 */
export const VIEWS_STYLE: string = STYLE_OF_VIEWS

/**
 * Draws a view into an otherwise empty element; a further call updates the differences. `null` removes it. Throws a
 * `TypeError` for an unknown view.
 */
export function drawView<Name extends keyof Views>(place: ViewPlace, view: Name, props: Views[Name] | null): void {
  requireView(view)
  drawInto(place, view, props)
}

/**
 * A view as HTML, for pages without scripts; it belongs inside an element of class `fairlead`. All text from
 * `props` is escaped. Charts need a `width`. Throws a `TypeError` for an unknown view.
 */
export function viewAsHtml<Name extends keyof Views>(view: Name, props: Views[Name]): string {
  requireView(view)
  return textOf(view, props)
}

function requireView(view: string): void {
  if (!NAMES.includes(view)) throw new TypeError(`view must be one of ${NAMES.join(', ')}, got ${show(view)}`)
}
