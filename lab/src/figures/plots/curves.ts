import { type Curve, linear, logistic, step } from '@fairlead/core'
import { type Line, type LinePanel, plotLines } from './lines.js'

/** As for memory. */
const RANGE = { from: 0.75, to: 0.95 }
const STEPS = 200
/** Load swings around its mean by this much, evenly, as requests come and go. */
const SWING = 0.1

const CURVES = [
  ['logistic', 'blue', logistic(RANGE)],
  ['linear', 'green', linear(RANGE)],
  ['step', 'orange', step(RANGE)],
] as const satisfies readonly (readonly [string, Line['color'], Curve])[]

function panel(title: string, x: string, y: string, refused: (curve: Curve, load: number) => number): LinePanel {
  return {
    title,
    x: { name: x, least: 0.6, most: 1 },
    y: { name: y, most: 100 },
    lines: CURVES.map(([name, color, curve]) => ({
      name,
      color,
      points: Array.from({ length: STEPS + 1 }, (_, i) => {
        const load = 0.6 + (0.4 * i) / STEPS
        return [load, 100 * refused(curve, load)] as const
      }),
    })),
  }
}

/** Mean share of requests that a curve refuses while load swings around a mean. */
function meanOf(curve: Curve, mean: number): number {
  let sum = 0
  for (let i = 0; i < STEPS; i++) sum += curve.probability(mean + SWING * ((2 * i + 1) / STEPS - 1))
  return sum / STEPS
}

/** The curves of shedding, and the share that each refuses. */
export function plotCurves(): string {
  return plotLines(
    'Three curves from load to the chance of refusal',
    'Here for memory, from 0.75 to 0.95 of the limit. The logistic curve hardly refuses near the lower end and hardly ' +
      'admits near the upper;\na step refuses nobody, then everybody, so load bounces between the two.',
    [
      panel('At a load', 'load, of the limit', 'refused, %', (curve, load) => curve.probability(load)),
      panel('While load swings by 0.1 around a mean', 'mean load, of the limit', '', meanOf),
    ],
  )
}
