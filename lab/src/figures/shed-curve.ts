import { logistic } from '@fairlead/core'
import type { Aim } from './aims.js'
import type { Figure } from './figure.js'
import { plotCurves } from './plots/curves.js'

/** The worked example of the post: memory in bytes, from the first refusals to the refusal of all. */
const FROM = 3_000_000_000
const TO = 3_221_225_472
const MIDDLE = (FROM + TO) / 2

interface Point {
  readonly bytes: number
  readonly published: number
}

const POINTS: readonly Point[] = [
  { bytes: FROM - 1, published: 0 },
  { bytes: FROM, published: 0.01 },
  { bytes: MIDDLE, published: 0.5 },
  { bytes: TO - 1, published: 0.99 },
  { bytes: TO, published: 1 },
]
/** From a logarithm that was cut to seven digits; hence the parts in a million that we allow. */
const PUBLISHED_STEEPNESS = 4.15424043e-8
const DIGITS = 7

export const shedCurve: Figure = {
  name: 'shed-curve',
  file: 'shed-curve',
  about: 'the worked example of the logistic curve',
  source: '"Graceful degradation with the logistic function", 2022',
  make(_effort, tell) {
    tell('points')
    const curve = logistic({ from: FROM, to: TO })
    const points = POINTS.map(({ bytes, published }) => ({ bytes, published, ours: curve.probability(bytes) }))
    tell('steepness')
    const steepness = (logOdds(curve.probability(MIDDLE)) - logOdds(curve.probability(FROM))) / (MIDDLE - FROM)
    const steepnessAim: Aim = {
      what: 'k, in 1e-8 per byte',
      published: 1e8 * PUBLISHED_STEEPNESS,
      ours: 1e8 * steepness,
      goal: { least: 4.15424, most: 4.15425 },
      digits: 8,
    }
    return {
      aims: [
        steepnessAim,
        ...points.map(
          ({ bytes, published, ours }): Aim => ({
            what: `p(${grouped(bytes)})`,
            published,
            ours,
            goal: { least: published, most: published },
            digits: DIGITS,
          }),
        ),
      ],
      tables: [
        {
          id: 'points',
          title: 'Chance of refusal by memory in bytes',
          head: ['memory', 'ours', 'published'],
          rows: points.map(({ bytes, ours, published }) => [
            grouped(bytes),
            String(Number(ours.toFixed(DIGITS))),
            String(published),
          ]),
        },
      ],
      pictures: { '': plotCurves() },
      data: { steepness, points },
    }
  },
}

function logOdds(probability: number): number {
  return Math.log(probability / (1 - probability))
}

function grouped(bytes: number): string {
  return bytes.toLocaleString('en').replaceAll(',', ' ')
}
