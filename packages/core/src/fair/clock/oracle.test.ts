import { describe, expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import { seededRandom } from '../../testing/seeded-random.js'
import { ExactClock } from '../simulation/exact-clock.js'
import { FairTracker } from '../tracker.js'

/** A random service: who asks how often and for how much, what it can do, and how late one hears of it. */
interface Trace {
  seed: number
  /** Requests per second of each flow. */
  rates: number[]
  capacityPerSecond: number
  burst: number
  /** Instead of the bucket: so many workers, busy for `capacityPerSecond` requests a second together. */
  workers?: number
  /** Longest delay of an outcome, in seconds; they overtake each other. */
  delay: number
  costs: 'one' | 'any'
  weights: 'one' | 'any'
  /** Share of outcomes that are ignored, withdrawn, or never come. */
  odd: number
  /** Share of requests that fail whatever there is, from the tenth second to the last but twenty. */
  unrelated?: number
  /** All but the first three flows are silent in every other ten seconds. */
  pauses?: boolean
  /** Instead of 60. */
  seconds?: number
}

interface Pending {
  at: number
  report: () => void
}

/** Runs both on the same requests. Times are multiples of 1/1024 s, so that sums of them are exact in both. */
function compare(trace: Trace, seconds: number) {
  const { seed, rates, capacityPerSecond, burst, workers, delay, costs, weights, odd, pauses, unrelated = 0 } = trace
  const random = seededRandom(seed)
  const clock = manualClock()
  const weightOf = (flow: string): number => (weights === 'any' ? 1 + (Number(flow.slice(5)) % 3) : 1)
  const tracker = new FairTracker({
    rule: 'fair-clock',
    levels: 1,
    bucketsPerLevel: 1 << 22,
    rotateEveryMs: Number.POSITIVE_INFINITY,
    weightOf,
    clock,
    random: seededRandom(seed + 40),
  })
  const exact = new ExactClock()
  const total = rates.reduce((sum, rate) => sum + rate, 0)
  const pending: Pending[] = []
  let now = 0
  let tokens = burst
  let filled = 0
  let busy = 0
  const count = { decisions: 0, refused: 0, failed: 0, mostUnrelated: 0 }
  const pass = (t: number): void => {
    now = t
    clock.advance(t * 1000 - clock())
  }
  while (now < seconds) {
    const next = now + Math.ceil((-Math.log(1 - random()) / total) * 1024) / 1024
    while (pending.length > 0 && pending[0]!.at <= next) {
      const { at, report } = pending.shift()!
      pass(at)
      report()
    }
    pass(next)
    let pick = random() * total
    let i = 0
    while (pick >= rates[i]!) pick -= rates[i++]!
    if (pauses && i > 2 && Math.floor(now / 10) % 2 === 1) continue
    const flow = `flow-${i}`
    const cost = costs === 'any' ? Math.ceil(random() * 5) : 1
    const key = tracker.key(flow)
    const admitted = tracker.register(key, clock(), cost)
    const admission = exact.admit(flow, now, cost, weightOf(flow))
    count.decisions++
    count.mostUnrelated = Math.max(count.mostUnrelated, exact.background.share)
    if (admitted !== (admission !== undefined)) throw new Error(`decision ${count.decisions} at ${now} s differs`)
    if (admission === undefined) {
      count.refused++
      continue
    }
    tokens = Math.min(burst, tokens + (now - filled) * capacityPerSecond)
    filled = now
    const fails = unrelated > 0 && now > 10 && now < seconds - 20 && random() < unrelated
    const served = !fails && (workers === undefined ? tokens >= cost : busy < workers)
    if (served) {
      tokens -= cost
      busy++
    } else count.failed++
    const fate = random()
    if (fate < odd) continue
    const report = (): void => {
      if (served) busy--
      const w = weightOf(flow)
      if (fate < 2 * odd) {
        tracker.withdraw(key)
        exact.ignore(flow, now, admission, w, true)
      } else if (fate < 3 * odd) {
        tracker.report(key, 'ignored', clock(), cost)
        exact.ignore(flow, now, admission, w, false)
      } else if (served) {
        tracker.report(key, 'success', clock(), cost)
        exact.succeed(now, cost, admission)
      } else {
        tracker.report(key, 'failure', clock(), cost)
        exact.fail(now, cost, admission)
      }
    }
    const held = workers === undefined || !served ? 0 : (-Math.log(1 - random()) * workers) / capacityPerSecond
    if (delay + held === 0) report()
    else {
      pending.push({ at: now + Math.ceil((random() * delay + held) * 1024) / 1024, report })
      pending.sort((x, y) => x.at - y.at)
    }
  }
  return { count, tracker, exact }
}

const common = { rates: [], capacityPerSecond: 100, burst: 20, delay: 0, costs: 'one', weights: 'one', odd: 0 } as const
const noisy = [...Array.from({ length: 18 }, () => 10 / 3), 50, 50]
const rare = [...Array.from({ length: 300 }, () => 0.02), 30, 30]
const many = [...Array.from({ length: 180 }, () => 0.5), ...Array.from({ length: 20 }, () => 10)]

describe('the fair clock, where no flows collide, decides as one record per flow would', () => {
  it.each<[string, Omit<Trace, 'seed'>]>([
    ['a few loud ones', { ...common, rates: noisy }],
    ['many, few loud', { ...common, rates: many, burst: 100 }],
    ['all alike', { ...common, rates: Array.from({ length: 100 }, () => 3) }],
    ['hardly any buffer', { ...common, rates: noisy, burst: 2 }],
    ['a pool of workers', { ...common, rates: noisy, workers: 20 }],
    ['two flows', { ...common, rates: [8, 8], capacityPerSecond: 8, burst: 4 }],
    ['enough for all', { ...common, rates: noisy, capacityPerSecond: 250 }],
    ['outcomes that are late', { ...common, rates: noisy, delay: 5 }],
    ['costs', { ...common, rates: noisy, costs: 'any', capacityPerSecond: 300, burst: 60 }],
    ['overloads that come and go', { ...common, rates: noisy, weights: 'any', pauses: true }],
    ['flows that come rarely', { ...common, rates: rare, capacityPerSecond: 30, burst: 10, seconds: 300 }],
    ['weights', { ...common, rates: noisy, weights: 'any' }],
    ['outcomes lost, withdrawn, ignored', { ...common, rates: noisy, odd: 0.05, delay: 0.5 }],
    ['failures of another kind', { ...common, rates: noisy, unrelated: 0.3, seconds: 120 }],
    ['a few of them, and enough', { ...common, rates: noisy, unrelated: 0.1, capacityPerSecond: 250, seconds: 200 }],
    ['half of them, late and lost', { ...common, rates: many, unrelated: 0.5, delay: 1, odd: 0.02, seconds: 120 }],
    ['everything at once', { ...common, rates: many, odd: 0.02, delay: 1, costs: 'any', weights: 'any' }],
  ])('%s', (_, trace) => {
    for (const seed of [1, 2, 3]) {
      const { count, tracker, exact } = compare({ ...trace, seed }, trace.seconds ?? 60)
      expect(count.decisions).toBeGreaterThan(900)
      const { engaged, fairRatePerSecond, capacityPerSecond, backgroundFailureShare } = tracker.snapshot()
      expect(engaged).toBe(!exact.open)
      expect(backgroundFailureShare).toBeCloseTo(exact.background.share, 9)
      if (trace.unrelated !== undefined) expect(count.mostUnrelated).toBeGreaterThan(trace.unrelated / 2)
      expect(fairRatePerSecond / exact.alpha).toBeCloseTo(1, 6)
      if (exact.C > 0) expect(capacityPerSecond! / exact.C).toBeCloseTo(1, 6)
    }
  })
})
