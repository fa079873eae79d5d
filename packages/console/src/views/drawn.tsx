/** The views for other pages; bundled with their renderer, for `views.ts`. */
import { type ComponentType, h, render } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { Bar, Lines } from './charts.js'
import { Flows } from './flows.js'
import { Budget, Capacity, Fleet, Refusals, Shedding, WaitingRoom } from './panels.js'
import type { Views } from './props.js'
import { RiverPanel } from './river.js'
import { drawSafely } from './safe.js'
import { useSeen } from './seen.js'
import { StateBanner } from './state.js'

const SPAN_MS = 120_000

drawSafely()

const VIEWS: { readonly [Name in keyof Views]: ComponentType<Views[Name]> } = {
  state({ frames }) {
    const { state, shares } = useSeen(frames)
    return <StateBanner state={state} shares={shares} frame={frames.at(-1)} />
  },
  river({ frames, spanMs = SPAN_MS, width }) {
    const { coloured } = useSeen(frames)
    return <RiverPanel frames={frames} span={spanMs} coloured={coloured} width={width} />
  },
  flows({ frames }) {
    const { shares, colourOf } = useSeen(frames)
    return <Flows frames={frames} shares={shares} colourOf={colourOf} />
  },
  waiting({ frames }) {
    const { colourOf } = useSeen(frames)
    const frame = frames.at(-1)
    return frame?.queue ? <WaitingRoom queue={frame.queue} frame={frame} colourOf={colourOf} /> : null
  },
  capacity: ({ frames, spanMs = SPAN_MS, width }) => <Capacity frames={frames} span={spanMs} width={width} />,
  shedding: Shedding,
  budget({ frames }) {
    const { colourOf } = useSeen(frames)
    const budget = frames.at(-1)?.budget
    return budget ? <Budget budget={budget} colourOf={colourOf} /> : null
  },
  refusals: ({ refusals }) => <Refusals refusals={refusals} colourOf={() => 'var(--others)'} />,
  processes({ frames }) {
    const frame = frames.at(-1)
    return frame === undefined ? null : <Fleet frame={frame} />
  },
  bar: Bar,
  lines: Lines,
}

/** The names of all views. */
export const NAMES: readonly string[] = Object.keys(VIEWS)

export function drawInto(place: Element, name: keyof Views, props: object | null): void {
  place.classList.add('fairlead')
  render(props === null ? null : h(VIEWS[name] as ComponentType<object>, props), place)
}

export function textOf(name: keyof Views, props: object): string {
  return renderToString(h(VIEWS[name] as ComponentType<object>, props))
}
