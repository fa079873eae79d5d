import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { BarProps, LinesProps } from './props.js'
import { duration, number, type RiverPoint, rate } from './view.js'

/** The width of an element in pixels, as it changes; `before` until it is known, and without a page. */
export function useWidth(before = 0): [{ current: HTMLDivElement | null }, number] {
  const ref = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(before)
  useEffect(() => {
    const element = ref.current
    if (element === null) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, width]
}

/** A round number at or above `value`, as the end of an axis. */
export function ceiling(value: number): number {
  if (!(value > 0)) return 1
  const size = 10 ** Math.floor(Math.log10(value))
  for (const step of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) if (step * size >= value) return step * size
  return 10 * size
}

/** The number of parts into which a round number divides evenly. */
function partsOf(most: number): number {
  const mantissa = Math.round((10 * most) / 10 ** Math.floor(Math.log10(most)))
  if (mantissa === 50) return 5
  return mantissa % 15 === 0 ? 3 : 4
}

const MARGIN = { left: 44, right: 8, top: 14, bottom: 22 }

/** A chart over time, with its axes. */
export function TimeChart(props: {
  label: string
  height: number
  span: number
  endMs: number
  most: number
  width?: number | undefined
  children: (x: (atMs: number) => number, y: (value: number) => number) => ComponentChildren
  tip?: (atMs: number) => ComponentChildren
}): JSX.Element {
  const { label, height, span, endMs, most, children, tip } = props
  const [ref, width] = useWidth(props.width)
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
 * Service, stacked by flow, with refusals hatched on top: shows which flows take the river's width, and which ask for
 * more than the capacity.
 */
export function River(props: {
  points: readonly RiverPoint[]
  flows: readonly string[]
  colours: readonly number[]
  span: number
  height: number
  label: string
  most?: number
  width?: number | undefined
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
    <TimeChart label={label} height={height} span={span} endMs={endMs} most={most} width={props.width} tip={tip}>
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

/** Curves too small for axes, with the newest values on the right. */
export function Lines({ lines, width = 90, height = 22, label }: LinesProps): JSX.Element {
  const most = Math.max(Number.MIN_VALUE, ...lines.flatMap(({ values }) => values.filter(Number.isFinite)))
  const pointsOf = (values: readonly number[]): string =>
    values
      .flatMap((value, i) => {
        const x = (i / Math.max(1, values.length - 1)) * width
        return Number.isFinite(value)
          ? [`${x.toFixed(1)},${(height - 1 - (value / most) * (height - 2)).toFixed(1)}`]
          : []
      })
      .join(' ')
  return (
    <svg width={width} height={height} role="img" aria-label={label} aria-hidden={label === undefined}>
      {lines.map(({ values, colour }) => (
        <polyline
          key={colour}
          points={pointsOf(values)}
          fill="none"
          stroke={colour}
          stroke-width="1.6"
          stroke-linejoin="round"
        />
      ))}
    </svg>
  )
}

/** A bar of parts, each with its own start, and a mark. */
export function Bar({ parts, most, mark, label }: BarProps): JSX.Element {
  const percentOf = (amount: number): string =>
    `${Math.round(1_000 * Math.min(1, Math.max(0, amount) / Math.max(Number.MIN_VALUE, most))) / 10}%`
  return (
    <svg width="100%" height="14" role="img" aria-label={label} aria-hidden={label === undefined}>
      <rect width="100%" height="14" rx="4" fill="var(--track)" />
      {parts
        .filter(({ value }) => value > 0)
        .map(({ value, colour, from = 0, faint = false }) => (
          <rect
            key={`${colour} ${from} ${faint}`}
            x={percentOf(from)}
            width={percentOf(value)}
            height="14"
            rx="4"
            fill={colour}
            opacity={faint ? 0.32 : 1}
          />
        ))}
      {mark !== undefined && (
        <line x1={percentOf(mark)} x2={percentOf(mark)} y1="-2" y2="16" stroke="var(--text)" stroke-width="2.5" />
      )}
    </svg>
  )
}
