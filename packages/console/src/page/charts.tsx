import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { duration, number, type RiverPoint, rate } from './view.js'

/** How wide an element is, in pixels, as it changes. */
export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const ref = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const element = ref.current
    if (element === null) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, width]
}

/** A round number at or above `value`, to end an axis with. */
export function ceiling(value: number): number {
  if (!(value > 0)) return 1
  const size = 10 ** Math.floor(Math.log10(value))
  for (const step of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) if (step * size >= value) return step * size
  return 10 * size
}

/** In how many parts a round number is to be divided, so that the parts are round too. */
function partsOf(most: number): number {
  const mantissa = Math.round((10 * most) / 10 ** Math.floor(Math.log10(most)))
  if (mantissa === 50) return 5
  return mantissa % 15 === 0 ? 3 : 4
}

const MARGIN = { left: 44, right: 8, top: 14, bottom: 22 }

/** Axes of a chart over time, and what is drawn in them. */
export function TimeChart(props: {
  label: string
  height: number
  span: number
  endMs: number
  most: number
  children: (x: (atMs: number) => number, y: (value: number) => number) => ComponentChildren
  tip?: (atMs: number) => ComponentChildren
}): JSX.Element {
  const { label, height, span, endMs, most, children, tip } = props
  const [ref, width] = useWidth()
  const [at, setAt] = useState<number | undefined>()
  const inner = Math.max(1, width - MARGIN.left - MARGIN.right)
  const tall = height - MARGIN.top - MARGIN.bottom
  const x = (atMs: number): number => MARGIN.left + inner * (1 - (endMs - atMs) / span)
  const y = (value: number): number => MARGIN.top + tall * (1 - Math.min(value, most) / most)
  const parts = partsOf(most)
  const steps = Array.from({ length: parts + 1 }, (_, i) => (i * most) / parts)
  const divisions = width < 480 ? 2 : (span / 1_000) % 40 === 0 ? 4 : 3
  const times = Array.from({ length: divisions + 1 }, (_, i) => 1 - i / divisions)
  const move = (event: PointerEvent): void => {
    const left = (event.currentTarget as Element).getBoundingClientRect().left
    const part = (event.clientX - left - MARGIN.left) / inner
    setAt(part >= 0 && part <= 1 ? (1 - part) * span : undefined)
  }
  const keys = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowLeft' ? 1_000 : event.key === 'ArrowRight' ? -1_000 : 0
    if (event.key === 'Escape') setAt(undefined)
    if (by === 0) return
    event.preventDefault()
    setAt(Math.min(span, Math.max(0, (at ?? 0) + by)))
  }
  const shown = tip && at !== undefined ? tip(endMs - at) : undefined
  return (
    <div
      class="chart"
      ref={ref}
      tabIndex={tip ? 0 : undefined}
      role="img"
      aria-label={label}
      onPointerMove={tip && move}
      onPointerLeave={() => setAt(undefined)}
      onBlur={() => setAt(undefined)}
      onKeyDown={tip && keys}
    >
      {width > 0 && (
        <svg width={width} height={height} aria-hidden="true">
          {steps.map((value) => (
            <g key={value}>
              <line
                class={value === 0 ? 'axis' : 'grid'}
                x1={MARGIN.left}
                x2={width - MARGIN.right}
                y1={y(value)}
                y2={y(value)}
              />
              <text x={MARGIN.left - 8} y={y(value) + 4} text-anchor="end">
                {number(value)}
              </text>
            </g>
          ))}
          {times.map((part) => (
            <text
              key={part}
              x={x(endMs - part * span)}
              y={height - 4}
              text-anchor={part === 1 ? 'start' : part === 0 ? 'end' : 'middle'}
            >
              {part === 0 ? 'now' : `−${duration(part * span)}`}
            </text>
          ))}
          {children(x, y)}
          {shown && at !== undefined && (
            <line class="cross" x1={x(endMs - at)} x2={x(endMs - at)} y1={MARGIN.top} y2={height - MARGIN.bottom} />
          )}
        </svg>
      )}
      {shown && at !== undefined && (
        <div
          class="tip"
          style={at > span / 2 ? { left: `${x(endMs - at) + 12}px` } : { right: `${width - x(endMs - at) + 12}px` }}
        >
          {shown}
        </div>
      )}
    </div>
  )
}

/** A band between two lines. */
function band(
  points: readonly RiverPoint[],
  x: (atMs: number) => number,
  low: (point: RiverPoint) => number,
  high: (point: RiverPoint) => number,
): string {
  if (points.length === 0) return ''
  const line = (list: readonly RiverPoint[], of: (point: RiverPoint) => number): string =>
    list.map((point) => `${x(point.atMs).toFixed(1)},${of(point).toFixed(1)}`).join('L')
  return `M${line(points, high)}L${line([...points].reverse(), low)}Z`
}

const total = (values: readonly number[], upTo = values.length): number =>
  values.slice(0, upTo).reduce((sum, each) => sum + each, 0)

/**
 * What was served, stacked by flow, and hatched on top of it what was refused: who takes the river's width, and who asks
 * for more than there is.
 */
export function River(props: {
  points: readonly RiverPoint[]
  flows: readonly string[]
  colours: readonly number[]
  span: number
  height: number
  label: string
  most?: number
}): JSX.Element {
  const { points, flows, colours, span, height, label } = props
  const id = useId()
  const endMs = points.at(-1)?.atMs ?? 0
  const visible = points.filter(({ atMs }) => atMs >= endMs - span)
  const top = Math.max(
    1,
    ...visible.map(({ served, refused, capacity }) => Math.max(total(served) + total(refused), 1.1 * (capacity ?? 0))),
  )
  const most = props.most ?? ceiling(top)
  const names = ['everyone else', ...flows]
  const colour = (i: number): string => (i === 0 ? 'var(--others)' : `var(--c${colours[i - 1]})`)
  const lastCapacity = visible.findLast(({ capacity }) => capacity !== null)?.capacity
  const tip = (atMs: number): ComponentChildren => {
    const point = visible.reduce<RiverPoint | undefined>(
      (best, each) => (best === undefined || Math.abs(each.atMs - atMs) < Math.abs(best.atMs - atMs) ? each : best),
      undefined,
    )
    if (point === undefined || Math.abs(point.atMs - atMs) > 3_000) return undefined
    return (
      <table>
        <tbody>
          <tr>
            <td class="soft">{new Date(point.atMs).toLocaleTimeString()}</td>
            <td class="soft">served</td>
            <td class="soft">refused</td>
          </tr>
          {names
            .map((name, i) => ({ name, i }))
            .reverse()
            .map(({ name, i }) => (
              <tr key={name}>
                <td>
                  <span class="swatch" style={{ background: colour(i) }} />
                  {name}
                </td>
                <td>{rate(point.served[i] ?? 0)}</td>
                <td>{rate(point.refused[i] ?? 0)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    )
  }
  return (
    <TimeChart label={label} height={height} span={span} endMs={endMs} most={most} tip={tip}>
      {(x, y) => (
        <>
          <defs>
            {names.map((name, i) => (
              <pattern
                key={name}
                id={`${id}-${i}`}
                width="6"
                height="6"
                patternUnits="userSpaceOnUse"
                patternTransform="rotate(45)"
              >
                <rect width="6" height="6" fill={colour(i)} opacity=".13" />
                <line x1="0" y1="0" x2="0" y2="6" stroke={colour(i)} stroke-width="2.4" opacity=".75" />
              </pattern>
            ))}
          </defs>
          {names.map((name, i) => (
            <path
              key={name}
              fill={colour(i)}
              stroke="var(--card)"
              stroke-width=".6"
              d={band(
                visible,
                x,
                (p) => y(total(p.served, i)),
                (p) => y(total(p.served, i + 1)),
              )}
            />
          ))}
          {names.map((name, i) => (
            <path
              key={name}
              fill={`url(#${id}-${i})`}
              d={band(
                visible,
                x,
                (p) => y(total(p.served) + total(p.refused, i)),
                (p) => y(total(p.served) + total(p.refused, i + 1)),
              )}
            />
          ))}
          <path
            class="capacity"
            d={visible
              .map(({ atMs, capacity }, i) =>
                capacity === null
                  ? ''
                  : `${visible[i - 1]?.capacity == null ? 'M' : 'L'}${x(atMs).toFixed(1)},${y(capacity).toFixed(1)}`,
              )
              .join('')}
          />
          {lastCapacity != null && (
            <text
              class="strong"
              x={x(endMs - span) + 6}
              y={y(lastCapacity) - 6}
              stroke="var(--card)"
              stroke-width="3"
              paint-order="stroke"
            >
              capacity {rate(lastCapacity)}
            </text>
          )}
        </>
      )}
    </TimeChart>
  )
}

/** A line so small that it needs no axes. */
export function Spark({ values, colour }: { values: readonly number[]; colour: string }): JSX.Element {
  const most = Math.max(1e-9, ...values)
  const points = values.map(
    (value, i) => `${((i / Math.max(1, values.length - 1)) * 90).toFixed(1)},${(21 - (value / most) * 19).toFixed(1)}`,
  )
  return (
    <svg width="90" height="22" aria-hidden="true" class="push">
      <polyline points={points.join(' ')} fill="none" stroke={colour} stroke-width="1.6" stroke-linejoin="round" />
    </svg>
  )
}

/** Asked, and of that served; a mark for what it may have. */
export function ShareBar({
  asked,
  served,
  entitled,
  most,
  colour,
}: {
  asked: number
  served: number
  entitled: number
  most: number
  colour: string
}): JSX.Element {
  const part = (value: number): string => `${Math.min(100, (100 * value) / most)}%`
  return (
    <svg width="100%" height="18" aria-hidden="true">
      <rect width="100%" y="3" height="12" rx="3" fill="var(--track)" opacity=".55" />
      <rect width={part(asked)} y="3" height="12" rx="3" fill={colour} opacity=".32" />
      <rect width={part(Math.min(served, asked))} y="3" height="12" rx="3" fill={colour} />
      {entitled < asked && (
        <line x1={part(entitled)} x2={part(entitled)} y1="0" y2="18" stroke="var(--text)" stroke-width="2.5" />
      )}
    </svg>
  )
}

/** A bar with an optional part of another kind at its end. */
export function Bar({
  value,
  beyond = 0,
  most,
  colour,
}: {
  value: number
  beyond?: number
  most: number
  colour: string
}): JSX.Element {
  const part = (amount: number): number => Math.min(100, (100 * amount) / Math.max(1e-9, most))
  return (
    <svg width="100%" height="14" aria-hidden="true">
      <rect width="100%" height="14" rx="4" fill="var(--track)" />
      <rect width={`${part(value)}%`} height="14" rx="4" fill={colour} />
      {beyond > 0 && <rect x={`${part(value)}%`} width={`${part(beyond)}%`} height="14" rx="2" fill="var(--warn)" />}
    </svg>
  )
}
