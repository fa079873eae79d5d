import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import type { Decision } from './admission/decision.js'
import { createGate } from './create-gate.js'
import { blue } from './fair/blue.js'
import type { FairOptions } from './fair/options.js'
import { logistic } from './shed/curve.js'
import { loadShedder } from './shed/load-shedder.js'
import { manualClock } from './testing/manual-clock.js'
import { seededRandom } from './testing/seeded-random.js'

/**
 * A resource that never answers "exhausted": its shortage shows only as load, and FAIR can learn only from the requests
 * that are shed. 18 flows ask for two thirds of the fair level each, 2 for ten times as much as those; 160 per second
 * on a capacity of 100.
 */
const SECONDS = 180
const rates = [...Array.from({ length: 18 }, () => 10 / 3), 50, 50]

interface Resource {
  range: { from: number; to: number }
  /** The load after `ms` more milliseconds. */
  advance(ms: number): void
  load(): number
  admit(): void
}

/** One server that takes 10 ms a request; its load is the queueing delay, smoothed over 100 ms. */
function singleServer(): Resource {
  let backlogMs = 0
  let smoothedMs = 0
  return {
    range: { from: 30, to: 150 },
    advance(ms) {
      smoothedMs += (1 - Math.exp(-ms / 100)) * (backlogMs - smoothedMs)
      backlogMs = Math.max(0, backlogMs - ms)
    },
    load: () => smoothedMs,
    admit() {
      backlogMs += 10
    },
  }
}

/** Memory for about 100 requests, each held for a second on average. */
function memory(random: () => number): Resource {
  const ends: number[] = []
  let nowMs = 0
  return {
    range: { from: 0.75, to: 0.95 },
    advance(ms) {
      nowMs += ms
      for (let i = ends.length - 1; i >= 0; i--) if (ends[i]! <= nowMs) ends.splice(i, 1)
    },
    load: () => ends.length / 118,
    admit() {
      ends.push(nowMs - 1000 * Math.log(1 - random()))
    },
  }
}

interface Result {
  quietMean: number
  quietWorst: number
  utilisation: number
  shedShare: number
}

function run(seed: number, make: (random: () => number) => Resource, fair: FairOptions | false): Result {
  const random = seededRandom(seed)
  const clock = manualClock()
  const resource = make(random)
  const signal = {
    name: 'load',
    kind: 'live' as const,
    curve: logistic(resource.range),
    read: () => resource.load(),
  }
  const gate = createGate({ clock, random, shed: loadShedder({ signal }), fair })
  const asked = rates.map(() => 0)
  const served = rates.map(() => 0)
  const total = rates.reduce((sum, rate) => sum + rate, 0)
  let requests = 0
  let sheds = 0
  while (clock() < SECONDS * 1000) {
    const gapMs = (-1000 * Math.log(1 - random())) / total
    clock.advance(gapMs)
    resource.advance(gapMs)
    let pick = random() * total
    let flow = 0
    while (pick >= rates[flow]!) pick -= rates[flow++]!
    asked[flow]!++
    requests++
    const decision = gate.admit({ flow: `tenant-${flow}` }) as Decision
    if (decision.admitted) {
      served[flow]!++
      resource.admit()
      decision.finish('success')
    } else if (decision.stage === 'shed') sheds++
  }
  const quiet = served.slice(0, 18).map((count, flow) => count / asked[flow]!)
  return {
    quietMean: quiet.reduce((sum, share) => sum + share, 0) / quiet.length,
    quietWorst: Math.min(...quiet),
    utilisation: served.reduce((sum, count) => sum + count, 0) / (100 * SECONDS),
    shedShare: sheds / requests,
  }
}

function mean(make: (random: () => number) => Resource, fair: FairOptions | false): Result {
  const runs = byWidth([1, 2], [1, 2, 3, 4, 5]).map((seed) => run(seed, make, fair))
  const of = (key: keyof Result): number => runs.reduce((sum, result) => sum + result[key], 0) / runs.length
  return {
    quietMean: of('quietMean'),
    quietWorst: of('quietWorst'),
    utilisation: of('utilisation'),
    shedShare: of('shedShare'),
  }
}

const resources: [string, (random: () => number) => Resource][] = [
  ['a server that only gets slow', singleServer],
  ['memory that only fills', memory],
]

describe.each(resources)('%s', (_, make) => {
  const alone = mean(make, false)

  it('sheds everyone alike without FAIR', () => {
    expect(alone.quietMean).toBeLessThan(0.66)
    expect(alone.utilisation).toBeGreaterThan(0.95)
    expect(alone.shedShare).toBeGreaterThan(0.3)
  })

  describe.each([
    // With the credit that the fair clock reports, the shedder spares flows that are owed service.
    { rule: 'fair-clock', fair: {}, quietMean: 0.97, quietWorst: 0.95, utilisation: 0.9, shedShare: 0.09 },
    { rule: 'blue', fair: blue(), quietMean: 0.85, quietWorst: 0.75, utilisation: 0.78, shedShare: 0.02 },
  ] as const)('with rule $rule', ({ fair, quietMean, quietWorst, utilisation, shedShare }) => {
    const together = mean(make, fair)

    it('teaches FAIR by its sheds which flows are heavy, so that the quiet ones are served', () => {
      expect(together.quietMean).toBeGreaterThanOrEqual(quietMean)
      expect(together.quietWorst).toBeGreaterThanOrEqual(quietWorst)
      expect(together.utilisation).toBeGreaterThanOrEqual(utilisation)
    })

    it('then sheds nearly nothing', () => expect(together.shedShare).toBeLessThanOrEqual(shedShare))
  })
})
