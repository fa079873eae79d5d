import { expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import { seededRandom } from '../../testing/seeded-random.js'
import { FairTracker } from '../tracker.js'

/** Requests per second of each flow, and the rate of the resource, by the second. */
const FLOWS = {
  heavy: (second: number) => (second < 5 ? 5 : 40),
  paid: (second: number) => (second < 30 ? 10 : 3),
  quiet: () => 2,
  costly: (second: number) => (second < 15 ? 0 : 1),
  visitor: (second: number) => (second < 20 ? 0 : 3),
}
const capacityAt = (second: number): number => (second < 35 ? 30 : second < 45 ? 15 : 100)
const BURST = 10
const SECONDS = 55
const SYMBOLS = { success: '+', failure: '!', ignored: '~' } as const

/**
 * Result of each request of each flow, a line a second: `+` served, `!` failed, `~` its client left, `-` refused; and
 * the state of the clock at the end of that second. A change of the rule shows its effect on each flow here. The other
 * tests state the guarantees.
 */
function decisions(): string {
  const clock = manualClock()
  const random = seededRandom(7)
  const weightOf = (flow: string): number => (flow === 'paid' ? 3 : 1)
  const tracker = new FairTracker({ rule: 'fair-clock', clock, random, weightOf })
  const names = Object.keys(FLOWS) as (keyof typeof FLOWS)[]
  const lines: string[] = [['second', 'state', 'capacity', 'usual', 'rate', ...names].join('\t')]
  let tokens = BURST
  let visitors = 0
  for (let second = 0; second < SECONDS; second++) {
    const line = Object.fromEntries(names.map((name) => [name, '']))
    for (let step = 0; step < 1_000; step++) {
      clock.advance(1)
      tokens = Math.min(BURST, tokens + capacityAt(second) / 1_000)
      for (const name of names) {
        if (random() >= FLOWS[name](second) / 1_000) continue
        const flow = name === 'visitor' ? `visitor-${visitors++}` : name
        const cost = name === 'costly' ? 5 : 1
        if (!tracker.register(flow, undefined, cost)) {
          line[name] += '-'
          continue
        }
        const served = tokens >= cost
        if (served) tokens -= cost
        const outcome = random() < 0.03 ? 'ignored' : served ? 'success' : 'failure'
        tracker.report(flow, outcome, undefined, cost)
        line[name] += SYMBOLS[outcome]
      }
    }
    const state = tracker.snapshot()
    if (state.rule !== 'fair-clock') throw new Error(`it is ${state.rule}`)
    const { engaged, looking, capacityPerSecond, backgroundFailureShare } = state
    lines.push(
      [
        second,
        looking ? 'looks' : engaged ? 'short' : 'open',
        capacityPerSecond?.toPrecision(4) ?? '',
        backgroundFailureShare.toPrecision(3),
        state.fairRatePerSecond.toPrecision(4),
        ...names.map((name) => line[name]),
      ].join('\t'),
    )
  }
  return `${lines.join('\n')}\n`
}

it('decides as it is written down', async () => {
  await expect(decisions()).toMatchFileSnapshot('../fixtures/clock-decisions.tsv')
})
