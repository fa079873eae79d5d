import { TITLES, WAYS, type Way } from '../escrow/rule.js'
import { AXIS, COLOURS, draw, heading, INK, words } from './style.js'

const COLOUR: Readonly<Record<Way, string>> = {
  excess: COLOURS.grey,
  whole: COLOURS.sky,
  strict: COLOURS.blue,
  paced: COLOURS.orange,
}
const PANELS = [
  { left: 76, title: 'Each tenant has a constant cost' },
  { left: 590, title: 'Each call costs something else' },
] as const
const PANEL_WIDTH = 450
const TOP = 156

/** Part of the limit that is used, by the largest cost: constant costs, and costs drawn anew. */
export function plotCoarse(
  panels: readonly Readonly<Record<Way, readonly number[]>>[],
  goals: readonly (readonly number[])[],
  mostCosts: readonly number[],
): string {
  return draw(
    {
      title: [
        heading(
          'Calls that are large beside the limit',
          'Part of the limit that is used: limits of 50 to 200, two to six tenants that ask for all they can get, costs ' +
            'from 1 to 4, 20 or 50. Line: our goal.',
        ),
        ...PANELS.map(({ left, title }) => words(title, left, TOP - 32, { size: 15, bold: true })),
      ],
      legend: { top: 74, left: 76, itemGap: 24, textStyle: { fontSize: 13, color: INK }, selectedMode: false },
      grid: PANELS.map(({ left }) => ({ left, top: TOP, width: PANEL_WIDTH, height: 240, containLabel: false })),
      xAxis: panels.map((_, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'category',
        data: mostCosts.map((most) => `1 to ${most}`),
        axisTick: { show: false },
        name: 'cost of a call',
        nameGap: 30,
      })),
      yAxis: panels.map((_, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        min: 60,
        max: 100,
        interval: 10,
        name: gridIndex === 0 ? 'used, % of the limit' : '',
        nameGap: 42,
      })),
      series: panels.flatMap((used, panel) => [
        ...WAYS.map((way) => ({
          type: 'bar' as const,
          name: TITLES[way],
          xAxisIndex: panel,
          yAxisIndex: panel,
          barWidth: 28,
          itemStyle: { color: COLOUR[way] },
          data: used[way].map((part) => 100 * part),
        })),
        {
          type: 'scatter' as const,
          xAxisIndex: panel,
          yAxisIndex: panel,
          symbol: 'rect',
          symbolSize: [140, 2],
          itemStyle: { color: INK },
          z: 3,
          data: goals[panel]!.map((goal) => 100 * goal),
        },
      ]),
    },
    478,
  )
}
