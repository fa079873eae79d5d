import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { createGate } from '../create-gate.js'
import type { FairOptions, Gate, Outcome, Stage } from '../index.js'
import { manualClock } from '../testing/manual-clock.js'
import { seededRandom } from '../testing/seeded-random.js'
import { blue } from './blue.js'
import { FairTracker } from './tracker.js'

/** A resource that serves `perSecond` and stores a fifth of a second's capacity. */
function bucket(perSecond: number): (nowMs: number) => boolean {
  let tokens = perSecond / 5
  let lastMs = 0
  return (nowMs) => {
    tokens = Math.min(perSecond / 5, tokens + ((nowMs - lastMs) * perSecond) / 1000)
    lastMs = nowMs
    if (tokens < 1) return false
    tokens--
    return true
  }
}

interface Sender {
  readonly perSecond: number
  readonly flow: (draw: number) => string
  readonly resource?: string
  readonly take: (nowMs: number) => boolean
  readonly leaves?: boolean
}

/** Sends Poisson traffic for `seconds`; returns the served share of each sender's requests after the first 30 s. */
function play(
  gate: Gate,
  clock: ReturnType<typeof manualClock>,
  seconds: number,
  senders: readonly Sender[],
): number[] {
  const random = seededRandom(7)
  const total = senders.reduce((sum, { perSecond }) => sum + perSecond, 0)
  const asked = senders.map(() => 0)
  const served = senders.map(() => 0)
  while (clock() < seconds * 1000) {
    clock.advance((-Math.log(1 - random()) * 1000) / total)
    let draw = random() * total
    const i = senders.findIndex(({ perSecond }) => {
      draw -= perSecond
      return draw < 0
    })
    const { flow, resource, take, leaves } = senders[i]!
    const decision = gate.admit({ flow: flow(random()), resource })
    if (decision instanceof Promise) throw new Error('nothing waits here')
    if (decision.admitted) {
      const taken = take(clock())
      const outcome: Outcome = taken ? 'success' : 'failure'
      decision.finish(leaves === true ? 'ignored' : outcome)
      if (taken && clock() > 30_000) served[i]!++
    }
    if (clock() > 30_000) asked[i]!++
  }
  return served.map((count, i) => count / asked[i]!)
}

const oneOf =
  (name: string, count: number) =>
  (draw: number): string =>
    `${name}-${Math.floor(draw * count)}`

describe('two resources behind one gate', () => {
  it.each([
    ['fair-clock', {}],
    ['blue', blue()],
  ] as const)('do not share a shortage if requests name them: %s', (_rule, fair) => {
    for (const short of byWidth([20], [50, 20])) {
      const clock = manualClock()
      const gate = createGate({ clock, random: seededRandom(1), fair })
      const [healthy] = play(gate, clock, 90, [
        { perSecond: 180, flow: oneOf('tenant', 60), resource: 'healthy', take: bucket(1000) },
        { perSecond: 120, flow: oneOf('tenant', 60), resource: 'short', take: bucket(short) },
      ])
      expect(healthy).toBe(1)
    }
  })

  it('are measured apart, and both apart from what names none', () => {
    const clock = manualClock()
    const gate = createGate({ clock })
    const finish = (outcome: Outcome, resource?: string): void => {
      const permit = gate.admit({ flow: 'acme', resource })
      if (!(permit instanceof Promise) && permit.admitted) permit.finish(outcome)
    }
    finish('success')
    expect(gate.snapshot().stages['fair']).not.toHaveProperty('resources')
    finish('failure', 'reports')
    finish('failure', 'reports')
    finish('success', 'search')
    expect(gate.snapshot().stages['fair']).toMatchObject({
      registered: 1,
      failures: 0,
      resources: { reports: { registered: 2, failures: 2 }, search: { registered: 1, successes: 1 } },
    })
  })

  it('are 32 at most: requests that name more share with those that name none', () => {
    const gate = createGate()
    for (let i = 0; i < 1000; i++) gate.admit({ flow: 'acme', resource: `resource-${i}`.padEnd(i, '.') })
    const fair = gate.snapshot().stages['fair'] as { registered: number; resources: Record<string, unknown> }
    expect(Object.keys(fair.resources)).toHaveLength(32)
    expect(fair.registered).toBe(968)
  })

  it.each(['', 7, null])('are named by a text, not by %j', (resource) => {
    expect(() => createGate().admit({ flow: 'acme', resource: resource as never })).toThrow(
      'resource must be a non-empty string',
    )
  })
})

describe('a client that hangs up before each answer', () => {
  /** The served share of ordinary flows beside an attacker with these names and rate: if it waits, and if it leaves. */
  const beside = (names: number, perSecond: number, fair: FairOptions, seconds: number): number[] =>
    [false, true].map((leaves) => {
      const clock = manualClock()
      const gate = createGate({ clock, random: seededRandom(5), fair })
      const take = bucket(100)
      return play(gate, clock, seconds, [
        { perSecond: 64, flow: oneOf('ordinary', 8), take },
        { perSecond, flow: oneOf('attacker', names), take, leaves },
      ])[0]!
    })

  it('is blamed under rule blue for the shortage that it makes, as if it waited', () => {
    const [waiting, leaving] = beside(1, 400, blue(), 150)
    expect(waiting).toBeGreaterThan(0.8)
    expect(leaving).toBeGreaterThan(0.9 * waiting!)
  })

  it.each(
    byWidth(
      [[20, 400]],
      [
        [1, 400],
        [20, 400],
        [20, 2_000],
        [20, 5_000],
      ],
    ) as [number, number][],
  )('takes no more from others than if it waited: %i names, %i/s', (names, perSecond) => {
    const [waiting, leaving] = beside(names, perSecond, {}, 100)
    expect(leaving).toBeGreaterThan(0.9 * waiting!)
  })
})

describe('the only flow there is', () => {
  it('is told of a shortage, and never that it is over its share', () => {
    const random = seededRandom(5)
    const clock = manualClock()
    const gate = createGate({ clock, random: seededRandom(9) })
    const capacity = bucket(20)
    let reasons = new Set<string>()
    const askUntil = (seconds: number): void => {
      while (clock() < seconds * 1000) {
        clock.advance(-Math.log(1 - random()) * 10)
        const decision = gate.admit({ flow: 'the only one' })
        if (decision instanceof Promise) throw new Error('nothing waits here')
        if (decision.admitted) decision.finish(capacity(clock()) ? 'success' : 'failure')
        else reasons.add(decision.reason)
      }
    }
    askUntil(60)
    expect(reasons).toEqual(new Set(['overload']))
    // Another flow arrives: now there are shares to exceed.
    gate.admit({ flow: 'another' })
    reasons = new Set()
    askUntil(70)
    expect(reasons).toEqual(new Set(['unfair']))
    askUntil(131)
    reasons = new Set()
    askUntil(140)
    expect(reasons).toEqual(new Set(['overload']))
  })
})

describe('while nothing is short', () => {
  it('answers and knows the same as if it heard of each request at once', () => {
    const random = seededRandom(11)
    const clock = manualClock()
    const gate = createGate({ clock, random: seededRandom(3) })
    const tracker = new FairTracker({ clock, random: seededRandom(3) })
    const capacity = bucket(50)
    const open: { finish(outcome: Outcome, cost: number): void }[] = []
    const refused = { gate: 0, tracker: 0 }
    const explained: unknown[] = []
    const known: unknown[] = []
    const perSecondAt = (seconds: number): number => (seconds > 40 && seconds < 100 ? 120 : 30)
    while (clock() < 180_000) {
      const before = clock()
      // Whole milliseconds: times closer than a tenth of one would count as one.
      clock.advance(Math.round((-Math.log(1 - random()) * 1000) / perSecondAt(clock() / 1000)))
      const flow = `flow-${Math.floor(20 * random() ** 2)}`
      const cost = 0.5 + random()
      const key = tracker.key(flow)
      const isIn = tracker.register(key, clock(), cost)
      const decision = gate.admit({ flow, cost })
      if (decision instanceof Promise) throw new Error('nothing waits here')
      if (!isIn) refused.tracker++
      if (!decision.admitted) refused.gate++
      expect(decision.admitted, `at ${clock()} ms`).toBe(isIn)
      if (decision.admitted) {
        const late = { finish: (outcome: Outcome, really: number) => decision.finish(outcome, { cost: really }) }
        open.push({
          finish(outcome, really) {
            late.finish(outcome, really)
            tracker.report(key, outcome, clock(), outcome === 'ignored' ? Math.max(really, key.charged) : really)
          },
        })
      }
      if (open.length > 8) {
        const draw = random()
        const really = 0.5 + random()
        open
          .splice(Math.floor(draw * open.length), 1)[0]
          ?.finish(draw < 0.02 ? 'ignored' : capacity(clock()) ? 'success' : 'failure', really)
      }
      if (Math.floor(clock() / 5000) === Math.floor(before / 5000)) continue
      explained.push(gate.explain(flow)['fair'], gate.snapshot().stages['fair'])
      known.push(tracker.explain(flow), tracker.snapshot())
    }
    expect(explained).toEqual(known)
    expect(refused.gate).toBe(refused.tracker)
    expect(refused.gate).toBeGreaterThan(200)
  })

  it('tells later stages what credit a flow has', () => {
    const clock = manualClock()
    const seen: (number | undefined)[] = []
    const stage: Stage = {
      name: 'reader',
      admit(passage) {
        seen.push(passage.credit)
        return undefined
      },
    }
    const gate = createGate({ clock, random: seededRandom(3), stages: [stage] })
    const tracker = new FairTracker({ clock, random: seededRandom(3) })
    const told: (number | undefined)[] = []
    for (let i = 0; i < 200; i++) {
      clock.advance(20)
      const flow = i % 4 === 0 ? 'quiet' : 'loud'
      const decision = gate.admit({ flow })
      if (!(decision instanceof Promise) && decision.admitted) decision.finish('success')
      const key = tracker.key(flow)
      tracker.register(key)
      told.push(key.credit)
      tracker.report(key, 'success')
    }
    expect(seen).toEqual(told)
  })
})
