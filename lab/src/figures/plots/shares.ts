import { AXIS, COLOURS, draw, heading, words } from './style.js'

/** A flow's share of the total service, and its entitlement. */
export interface ServedShare {
  readonly label: string
  readonly served: number
  readonly entitled: number
}

const PANELS = [
  { left: 76, title: 'By weight' },
  { left: 612, title: 'By cost of a request, equal weights' },
] as const
const PANEL_WIDTH = 420
const TOP = 130

/** Served share beside entitled share, by weight and by cost. */
export function plotShares(byWeight: readonly ServedShare[], byCost: readonly ServedShare[]): string {
  const panels = [byWeight, byCost]
  return draw(
    {
      title: [
        heading(
          'Flows are served by weight, regardless of their costs',
          'Share of the service that each of five heavy flows gets, measured in cost, beside 200 light flows. ' +
            'Bars: served. Lines: entitled.',
        ),
        ...PANELS.map(({ left, title }) => words(title, left, TOP - 38, { size: 16, bold: true })),
      ],
      grid: PANELS.map(({ left }) => ({ left, top: TOP, width: PANEL_WIDTH, height: 240, containLabel: false })),
      xAxis: panels.map((flows, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'category',
        data: flows.map(({ label }) => label),
        axisTick: { show: false },
      })),
      yAxis: panels.map((_, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        min: 0,
        max: 50,
        interval: 10,
        name: gridIndex === 0 ? 'share of the service, %' : '',
        nameGap: 40,
      })),
      series: panels.flatMap((flows, panel) => [
        {
          type: 'bar' as const,
          xAxisIndex: panel,
          yAxisIndex: panel,
          barWidth: 54,
          itemStyle: { color: panel === 0 ? COLOURS.blue : COLOURS.green },
          label: {
            show: true,
            position: 'insideTop' as const,
            distance: 10,
            color: '#ffffff',
            fontSize: 13,
            formatter: ({ value }: { value?: unknown }) => `${Number(value).toFixed(1)} %`,
          },
          data: flows.map(({ served }) => 100 * served),
        },
        {
          type: 'scatter' as const,
          xAxisIndex: panel,
          yAxisIndex: panel,
          symbol: 'rect',
          symbolSize: [72, 3],
          itemStyle: { color: COLOURS.orange },
          z: 3,
          data: flows.map(({ entitled }) => 100 * entitled),
        },
      ]),
    },
    430,
  )
}
