import type { EChartsOption, LineSeriesOption, ScatterSeriesOption } from 'echarts'
import type { Course } from '../../simulation/doorman/index.js'
import { AXIS, COLOURS, draw, heading, INK, words } from './style.js'

/** The same scenario, with the same seed, in both systems. */
export interface Courses {
  readonly published: Course
  readonly ours: Course
}

const WANTED = COLOURS.grey
const HANDED_OUT = COLOURS.blue
const OVER = COLOURS.orange
/** Rounding error of sums: only a value that exceeds the capacity by more than this part is over it. */
const DUST = 1e-9

const LEFT = 72
const WIDTH = 980

interface Panel {
  readonly title: string
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  readonly most: number
  readonly interval: number
  readonly unit: string
  readonly seconds: number
  /** The axis of time is labelled. */
  readonly foot: boolean
  readonly series: readonly (LineSeriesOption | ScatterSeriesOption)[]
}

/** One server and five clients: demand, capacity, and granted capacity. */
export function plotAlone({ published, ours }: Courses): string {
  const side = (title: string, course: Course, left: number): Panel => ({
    title,
    left,
    top: 146,
    width: 450,
    height: 270,
    most: 700,
    interval: 100,
    unit: left === LEFT ? 'units' : '',
    seconds: secondsOf(course),
    foot: true,
    series: [capacity(course), wanted(course), handedOut(course), ...over(course)],
  })
  return plot(
    'One server, five clients: wanted, there, and handed out',
    'Scenario one of the design document, seed 1. Each client changes what it wants by up to a tenth every 10 s. ' +
      'A published\nserver hands out nothing for its first minute, in which it learns; ours begins at once, because ' +
      'nobody was there before it.',
    [side('published', published, LEFT), side('ours', ours, 600)],
    490,
  )
}

/** The tree, for an hour with mishaps. */
export function plotMishaps({ published, ours }: Courses): string {
  const row = (title: string, top: number, height: number, rest: Partial<Panel>, course: Course): Panel => ({
    title,
    left: LEFT,
    top,
    width: WIDTH,
    height,
    most: 600,
    interval: 100,
    unit: 'units',
    seconds: secondsOf(course),
    foot: false,
    series: [capacity(course), handedOut(course), ...over(course)],
    ...rest,
  })
  const most = 1_000 * Math.ceil(Math.max(...ours.wanted) / 1_000)
  return plot(
    'Three levels, 45 clients, a mishap every minute',
    'Scenario seven of the design document, seed 1, for an hour: now and then a client wants 100 more for good, ' +
      'another task wins an\nelection, or a node has no master for up to a minute. The dashed line falls to 0 while the ' +
      'root itself has none.',
    [
      row('wanted, the same for both', 146, 80, { most, interval: most / 2, series: [wanted(ours)] }, ours),
      row('published', 270, 200, {}, published),
      row('ours', 514, 200, { foot: true }, ours),
    ],
    775,
  )
}

function plot(title: string, subtitle: string, panels: readonly Panel[], height: number): string {
  const key = [
    { text: '– – capacity', color: INK, left: LEFT },
    { text: '— wanted', color: WANTED, left: LEFT + 110 },
    { text: '— handed out', color: HANDED_OUT, left: LEFT + 210 },
    { text: '● more than there is, for a moment or longer', color: OVER, left: LEFT + 330 },
  ].filter(({ color }) => color !== OVER || panels.some(({ series }) => series.some(({ type }) => type === 'scatter')))
  const option: EChartsOption = {
    title: [
      heading(title, subtitle),
      ...key.map(({ text, color, left }) => words(text, left, 96, { color, bold: true })),
      ...panels.map((panel) => words(panel.title, panel.left, panel.top - 20, { bold: true })),
    ],
    grid: panels.map(({ left, top, width, height }) => ({ left, top, width, height, containLabel: false })),
    xAxis: panels.map(({ seconds, foot }, gridIndex) => ({
      ...AXIS,
      gridIndex,
      type: 'value',
      min: 0,
      max: seconds,
      interval: seconds > 600 ? 600 : 60,
      splitLine: { show: false },
      axisLabel: { ...AXIS.axisLabel, show: foot, formatter: (at: number) => `${at / 60}` },
      name: foot ? 'minutes' : '',
      nameGap: 28,
    })),
    yAxis: panels.map(({ most, interval, unit }, gridIndex) => ({
      ...AXIS,
      gridIndex,
      type: 'value',
      min: 0,
      max: most,
      interval,
      name: unit,
      nameGap: 46,
    })),
    series: panels.flatMap(({ series }, panel) =>
      series.map((each) => ({ ...each, xAxisIndex: panel, yAxisIndex: panel, silent: true })),
    ),
  }
  return draw(option, height)
}

function secondsOf({ seconds }: Course): number {
  return seconds.at(-1) ?? 0
}

function line(course: Course, key: 'wanted' | 'handedOut', color: string, width: number): LineSeriesOption {
  return {
    type: 'line',
    data: course[key].map((value, i) => [course.seconds[i]!, value]),
    showSymbol: false,
    lineStyle: { color, width },
  }
}

function wanted(course: Course): LineSeriesOption {
  return line(course, 'wanted', WANTED, 1.8)
}

function handedOut(course: Course): LineSeriesOption {
  return line(course, 'handedOut', HANDED_OUT, 1.8)
}

function capacity({ seconds, capacity }: Course): LineSeriesOption {
  return {
    type: 'line',
    step: 'end',
    data: capacity.map((value, i) => [seconds[i]!, value]),
    showSymbol: false,
    lineStyle: { color: INK, width: 1.3, type: 'dashed' },
    z: 3,
  }
}

/** Each sample in which, or since the one before, clients had more than the highest capacity. */
function over({ seconds, capacity, most }: Course): ScatterSeriesOption[] {
  const there = Math.max(...capacity)
  const data = most.flatMap((value, i) => (value > there * (1 + DUST) ? [[seconds[i]!, value]] : []))
  if (data.length === 0) return []
  return [{ type: 'scatter', symbolSize: 5, itemStyle: { color: OVER }, z: 4, data }]
}
