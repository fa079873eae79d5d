import { TITLES, type Way } from '../escrow/rule.js'
import { AXIS, COLOURS, draw, heading, INK } from './style.js'

/** Units admitted to a tenant, and its entitlement. */
export interface AskerShare {
  readonly name: string
  readonly byWay: Readonly<Record<Way, number>>
  readonly entitled: number
}

const COLOUR: Readonly<Record<Way, string>> = {
  excess: COLOURS.grey,
  whole: COLOURS.sky,
  strict: COLOURS.blue,
  paced: COLOURS.orange,
}

/** Units admitted by tenant, a bar for each rule, and a line at weighted max-min. */
export function plotAskers(tenants: readonly AskerShare[]): string {
  const ways: readonly Way[] = ['excess', 'strict', 'paced']
  return draw(
    {
      title: heading(
        "An idle tenant's budget goes to the others by weight, not by demand",
        'Units admitted of 1000, beside a tenant of weight 5 that was admitted one unit and fell silent. Lines: ' +
          'weighted max-min of what is asked.',
      ),
      legend: { top: 74, left: 76, itemGap: 24, textStyle: { fontSize: 13, color: INK }, selectedMode: false },
      grid: { left: 76, right: 40, top: 124, bottom: 44 },
      xAxis: { ...AXIS, type: 'category', data: tenants.map(({ name }) => name), axisTick: { show: false } },
      yAxis: { ...AXIS, type: 'value', min: 0, max: 1_000, interval: 200, name: 'units admitted', nameGap: 46 },
      series: [
        ...ways.map((way) => ({
          type: 'bar' as const,
          name: TITLES[way].replace(', excess', ''),
          barWidth: 72,
          itemStyle: { color: COLOUR[way] },
          label: { show: true, position: 'top' as const, fontSize: 13, color: INK, formatter: wholes },
          data: tenants.map(({ byWay }) => byWay[way]),
        })),
        {
          type: 'scatter' as const,
          symbol: 'rect',
          symbolSize: [270, 2],
          itemStyle: { color: INK },
          z: 3,
          data: tenants.map(({ entitled }) => entitled),
        },
      ],
    },
    430,
  )
}

function wholes({ value }: { value?: unknown }): string {
  return Number(value).toFixed(0)
}
