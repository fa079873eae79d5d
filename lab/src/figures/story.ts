import { createGate } from '@fairlead/core'
import { manualClock, seededRandom } from '@fairlead/core/testing'
import { TokenBucket } from '../bench/noisy/token-bucket.js'
import type { Figure } from './figure.js'
import { type Line, plotLines } from './plots/lines.js'

const CAPACITY = 100
const SECONDS = 90
/** When the others are present. */
const THERE = [30, 60] as const
const QUIET_FLOWS = 8
const QUIET_PER_SECOND = 8
const LOUD_PER_SECOND = 250
/** Seconds that are averaged to one point. */
const WINDOW = 3
const SEED = 4

interface Course {
  /** Served per second, in each window. */
  readonly loud: readonly number[]
  readonly quiet: readonly number[]
}

/** One client asks for more than the capacity, others come and go; with FAIR before the resource, and without. */
function courseOf(fair: boolean, seconds: number): Course {
  const random = seededRandom(SEED)
  const clock = manualClock()
  const gate = createGate({ clock, random: seededRandom(SEED + 1), ...(fair ? {} : { fair: false }) })
  const bucket = new TokenBucket({ perSecond: CAPACITY, burst: CAPACITY / 5 }, clock)
  const windows = Math.floor(seconds / WINDOW)
  const served = { loud: new Array<number>(windows).fill(0), quiet: new Array<number>(windows).fill(0) }
  for (let atMs = 0; ; ) {
    const there = atMs >= THERE[0] * 1_000 && atMs < THERE[1] * 1_000
    const quiet = there ? QUIET_FLOWS * QUIET_PER_SECOND : 0
    const stepMs = (-1_000 * Math.log(1 - random())) / (LOUD_PER_SECOND + quiet)
    atMs += stepMs
    if (atMs >= windows * WINDOW * 1_000) break
    clock.advance(stepMs)
    const isLoud = random() * (LOUD_PER_SECOND + quiet) < LOUD_PER_SECOND
    const decision = gate.admit({ flow: isLoud ? 'loud' : `quiet-${Math.floor(random() * QUIET_FLOWS)}` })
    if (decision instanceof Promise || !decision.admitted) continue
    const isServed = bucket.take(1)
    decision.finish(isServed ? 'success' : 'failure')
    const window = Math.floor(atMs / 1_000 / WINDOW)
    if (isServed) served[isLoud ? 'loud' : 'quiet'][window]! += 1 / WINDOW
  }
  return served
}

function linesOf({ loud, quiet }: Course): Line[] {
  const points = (rates: readonly number[]) => rates.map((rate, i) => [(i + 0.5) * WINDOW, rate] as const)
  const asked = QUIET_FLOWS * QUIET_PER_SECOND
  return [
    { name: 'the loud client, served', color: 'orange', points: points(loud) },
    { name: 'the eight others, served', color: 'blue', points: points(quiet) },
    {
      name: 'the eight others, asked',
      color: 'grey',
      dashed: true,
      points: [
        [THERE[0], 0],
        [THERE[0], asked],
        [THERE[1], asked],
        [THERE[1], 0],
      ],
    },
  ]
}

export const story: Figure = {
  name: 'story',
  file: 'fair-story',
  about: 'one client alone uses everything, others come, and go',
  make(effort, tell) {
    const seconds = Math.max(SECONDS * effort.part, 2 * WINDOW)
    tell('without')
    const without = courseOf(false, seconds)
    tell('with FAIR')
    const withFair = courseOf(true, seconds)
    const busy = (rates: readonly number[]): number => {
      // Without the first window, in which every flow is new.
      const part = rates.slice(THERE[0] / WINDOW + 1, THERE[1] / WINDOW)
      return part.length === 0 ? 0 : part.reduce((sum, rate) => sum + rate, 0) / part.length
    }
    const alone = ({ loud }: Course): number => loud.slice(0, THERE[0] / WINDOW).reduce((a, b) => Math.max(a, b), 0)
    const panel = { x: { name: 'seconds', least: 0, most: SECONDS }, y: { name: 'requests/s', most: 120 } }
    return {
      tables: [
        {
          title: 'Served per second, of 100',
          head: ['', 'loud, alone', 'loud, others there', 'the others, who ask 64'],
          rows: [
            ['without', without],
            ['with FAIR', withFair],
          ].map(([name, course]) => {
            const { loud, quiet } = course as Course
            return [
              `${name as string}`,
              alone({ loud, quiet }).toFixed(0),
              busy(loud).toFixed(0),
              busy(quiet).toFixed(0),
            ]
          }),
        },
      ],
      pictures: {
        '': plotLines(
          'Alone a client uses everything; when others come, it is left with its share',
          'Simulated: a resource for 100 requests/s, a client that asks for 250 all the time, eight others that ask for 8 each from ' +
            '30 s to 60 s.\nWith FAIR everybody may have a ninth, 11 a second: the eight are served, and the loud client has what they leave.',
          [
            { title: 'Without', ...panel, lines: linesOf(without) },
            { title: 'With FAIR', ...panel, y: { ...panel.y, name: '' }, lines: linesOf(withFair) },
          ],
        ),
      },
      data: { without, withFair },
    }
  },
}
