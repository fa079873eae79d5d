import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import type { Decision, Permit } from '../../admission/decision.js'
import { refuse } from '../../admission/refusal.js'
import type { Stage } from '../../admission/stage.js'
import { createGate } from '../../create-gate.js'
import { requestQueue } from '../../queue/request-queue.js'
import { manualClock } from '../../testing/manual-clock.js'
import { seededRandom } from '../../testing/seeded-random.js'
import { World } from '../../testing/world.js'
import { runService, type Service } from '../fixtures/service.js'

/** 18 flows ask two thirds of the fair level, two ten times as much: 160 a second, on 100. */
const quiet = Array.from({ length: 18 }, (_, flow) => flow)
const loud = [18, 19]
const all = [...quiet, ...loud]
const rates = all.map((flow) => (flow < 18 ? 10 / 3 : 50))
const noisy: Service = {
  ratesAt: () => rates,
  mostAsked: 160,
  capacityAt: () => 100,
  burst: 20,
  seconds: 60,
  fair: {},
}
/** Twice as much as there is. */
const twice: Service = {
  ...noisy,
  ratesAt: () => all.map((flow) => (flow < 18 ? 20 / 3 : 140)),
  mostAsked: 400,
  capacityAt: () => 200,
  burst: 40,
}
const seeds = byWidth([1], [1, 2, 3])

/** Served of what is served without control, from one second to another. */
function servedOfNone(service: Service, seed: number, from: number, to: number): number {
  const flows = service.ratesAt(0).map((_, flow) => flow)
  const [served, without] = [{}, false].map((fair) =>
    runService({ ...service, fair }, seed).tally.total('served', flows, from, to),
  ) as [number, number]
  return served / without
}

describe('a gate with the fair clock serves the quiet and leaves nothing unused', () => {
  const few: [string, Partial<Service>][] = [
    ['when a later stage says that there is not enough, and refuses', { told: 'stage' }],
    ['when outcomes come up to a second late, out of order', { delay: 0.2, spread: 0.8 }],
    ['when a third of all outcomes never come', { lost: 0.33 }],
    ['when the clock jumps an hour ahead', { clockAt: (ms) => (ms > 15_000 ? ms + 3_600_000 : ms) }],
    ['when the clock jumps an hour back', { clockAt: (ms) => (ms > 15_000 ? ms - 3_600_000 : ms) }],
  ]
  const more: [string, Partial<Service>][] = [
    ['when the handler says it', {}],
    ['when outcomes come a second late', { delay: 1 }],
    ['when a tenth of all outcomes never come', { lost: 0.1 }],
    ['when the clock moves in steps of 100 ms', { clockAt: (ms) => 100 * Math.floor(ms / 100) }],
  ]

  it.each(byWidth(few, [...few, ...more]))('%s', (_, change) => {
    for (const seed of seeds) {
      const { tally } = runService({ ...noisy, ...change }, seed)
      expect(tally.share(quiet, 20, 60)).toBeGreaterThan(0.89)
      expect(tally.total('served', all, 20, 60) / 4000).toBeGreaterThan(0.9)
    }
  })

  const steps: [stepMs: number, least: number, used: number][] = [
    [100, 0.94, 0.97],
    [50, 0.94, 0.97],
    [200, 0.85, 0.97],
    [500, 0.7, 0.97],
  ]
  it.each(byWidth(steps.slice(0, 1), steps))(
    'when many requests arrive at one time of the clock, which moves in steps of %d ms: light flows get %d',
    (stepMs, least, used) => {
      const asked = Array.from({ length: 84 }, (_, flow) => (flow < 80 ? 1 : 60))
      const service = { ...noisy, ratesAt: () => asked, mostAsked: 320, capacityAt: () => 120, burst: 40, seconds: 120 }
      for (const seed of seeds) {
        const { tally } = runService({ ...service, clockAt: (ms) => stepMs * Math.floor(ms / stepMs) }, seed)
        expect(tally.share([...asked.keys()].slice(0, 80), 10, 120)).toBeGreaterThan(least)
        expect(tally.total('served', [...asked.keys()], 10, 120) / (110 * 120)).toBeGreaterThan(used)
      }
    },
  )

  it('in a deep overload, too, in which refusals are known at once and successes half a second later', () => {
    for (const seed of seeds) {
      const many = Array.from({ length: 40 }, (_, flow) => (flow < 20 ? 1.35 : 100))
      const seconds = byWidth(60, 90)
      const service = { ...noisy, ratesAt: () => many, mostAsked: 2_027, burst: 100, seconds }
      const { tally } = runService({ ...service, delay: 0.5, failsLater: -0.498 }, seed)
      expect(tally.share([...many.keys()].slice(0, 20), seconds - 30, seconds)).toBeGreaterThan(0.9)
    }
  })

  it('and tries more no faster than outcomes can show that it is too much', () => {
    for (const seed of seeds) {
      const service = {
        ratesAt: () => rates.map((rate) => 5 * rate),
        mostAsked: 800,
        capacityAt: () => 500,
        burst: 150,
      }
      const { tally } = runService({ ...noisy, ...service, delay: 2, seconds: 120 }, seed)
      expect(tally.share(quiet, 60, 120)).toBeGreaterThan(0.965)
    }
  })

  it.each(byWidth(['stage'] as const, ['stage', 'handler'] as const))(
    'when outcomes come five seconds late: %s',
    (told) => {
      for (const seed of seeds) {
        const { tally } = runService({ ...noisy, told, delay: 5, seconds: 90 }, seed)
        // Without control .62: a look has to last for several delays, so the rate is found late.
        expect(tally.share(quiet, 30, 90)).toBeGreaterThan(0.64)
        expect(tally.total('served', all, 30, 90) / 6000).toBeGreaterThan(0.93)
      }
    },
  )
})

describe('a service that starts in overload', () => {
  const starts: [level: number, seed: number][] = [
    [100, 2],
    [10, 1],
    [100, 1],
    [1_000, 1],
    [1_000, 2],
    [1_000, 3],
  ]
  it.each(byWidth(starts.slice(0, 1), starts))(
    'finds a fair rate of %i a second within seconds: seed %d',
    (level, seed) => {
      const asked = all.map((flow) => (flow < 18 ? (level * 2) / 3 : 10 * level))
      const { tally } = runService(
        {
          ...noisy,
          ratesAt: () => asked,
          mostAsked: 32 * level,
          capacityAt: () => 20 * level,
          burst: 4 * level,
          seconds: 8,
        },
        seed,
      )
      expect(tally.total('served', all, 0, 3) / (60 * level)).toBeGreaterThan(0.7)
      expect(tally.share(quiet, 4, 8)).toBeGreaterThan(0.92)
      expect(tally.total('served', all, 4, 8) / (80 * level)).toBeGreaterThan(0.88)
    },
  )
})

describe('an overload that begins after a calm time', () => {
  it('is no fault of the flow that brought it, and is seen within five seconds in the mean', () => {
    const calm = 30
    const late = Array.from({ length: 12 }, (_, seed) => {
      const ratesAt = (seconds: number): number[] => [seconds < calm ? 5 : 40, 10, 2]
      const service = { ratesAt, mostAsked: 52, capacityAt: () => 30, burst: 10, seconds: calm + 30, fair: {} }
      const { tally } = runService(service, seed)
      const refusedIn = (second: number): number => tally.total('refused', [0, 1, 2], second, second + 1)
      return tally.refused[0]!.findIndex((_, second) => refusedIn(second) > 5) - calm
    })
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
    expect(late.reduce((sum, each) => sum + each, 0) / late.length).toBeLessThan(5)
  })
})

describe('an overload of fifty times what there is', () => {
  it('is no outage: the little that is served goes to all alike', () => {
    for (const seed of seeds) {
      const rates = all.map((flow) => (flow < 18 ? 10 / 3 : 2_500))
      const seconds = byWidth(35, 50)
      const { tally } = runService({ ...noisy, ratesAt: () => rates, mostAsked: 5_060, seconds }, seed)
      expect(tally.share(quiet, seconds - 20, seconds)).toBeGreaterThan(0.9)
      expect(tally.total('served', all, seconds - 20, seconds) / 2000).toBeGreaterThan(0.95)
    }
  })
})

describe('a store of few requests', () => {
  const crowd = all.map(() => 6)

  it.each(byWidth([5], [5, 10]))(
    'of %i: of the capacity hardly less is used than without, though none would be used by others',
    (burst) => {
      for (const seed of seeds) {
        const service = { ...noisy, burst, ratesAt: () => crowd, mostAsked: 120, seconds: 90 }
        const { tally } = runService(service, seed)
        const { tally: without } = runService({ ...service, fair: false }, seed)
        expect(tally.total('served', all, 20, 90) / without.total('served', all, 20, 90)).toBeGreaterThan(0.87)
      }
    },
  )
})

describe('a capacity that changes', () => {
  const between = (from: number, to: number, inside: number, outside: number) => (seconds: number) =>
    seconds > from && seconds < to ? inside : outside

  it('to half: is followed within ten seconds, and the fair level with it', () => {
    for (const seed of seeds) {
      const { tally } = runService({ ...noisy, capacityAt: between(30, 60, 50, 100), seconds: 90 }, seed)
      // The fair level is now 2.5 a second, the quiet ask 3.3: they may have three quarters of that.
      expect(tally.share(quiet, 40, 60)).toBeGreaterThan(0.64)
      expect(tally.total('served', all, 40, 60) / 1000).toBeGreaterThan(0.97)
      expect(tally.share(quiet, 70, 90)).toBeGreaterThan(0.94)
      expect(tally.total('served', all, 70, 90) / 2000).toBeGreaterThan(0.93)
    }
  })

  it('to a sixth of the demand: is found within half a minute, though the old proof allows to admit all', () => {
    const asks = Array.from({ length: 12 }, (_, flow) => (flow < 2 ? 15 : 3))
    const flows = asks.map((_, flow) => flow)
    const service: Service = {
      ratesAt: () => asks,
      mostAsked: 60,
      capacityAt: (seconds) => (seconds < 60 ? 50 : 10),
      burst: 10,
      seconds: 150,
      fair: {},
    }
    for (const seed of seeds) {
      const { tally } = runService(service, seed)
      const [asked, served, refused] = (['asked', 'served', 'refused'] as const).map((what) =>
        tally.total(what, flows, 90, 150),
      ) as [number, number, number]
      // Without control 83 % of the admitted requests fail.
      expect(1 - served / (asked - refused)).toBeLessThan(0.6)
      expect(served / 600).toBeGreaterThan(0.97)
    }
  })

  it('that returns: is used again, although of a thousand requests a second some fail by chance', () => {
    const asks = Array.from({ length: 22 }, (_, flow) => (flow < 2 ? 330 : 17))
    const service: Service = {
      ratesAt: () => asks,
      mostAsked: 1000,
      capacityAt: between(20, 40, 100, 1200),
      burst: 8,
      seconds: 90,
      fair: {},
    }
    expect(servedOfNone(service, 1, 70, 90)).toBeGreaterThan(0.9)
  })

  it('that is short for three seconds of each ten: serves more than half of what is served without control', () => {
    const asks = Array.from({ length: 22 }, (_, flow) => (flow < 2 ? 20 : 1))
    const service: Service = {
      ratesAt: () => asks,
      mostAsked: 60,
      capacityAt: (seconds) => (seconds % 10 < 3 ? 15 : 200),
      burst: 20,
      seconds: 300,
      fair: {},
    }
    for (const seed of seeds) {
      expect(servedOfNone(service, seed, 0, 300)).toBeGreaterThan(0.55)
    }
  })

  it.runIf(byWidth(false, true))(
    'that is a tenth in each second turn of twenty seconds: serves half of what is served without control',
    () => {
      const service: Service = {
        ratesAt: () => [60, 5, 5, 5, 5, 5, 5],
        mostAsked: 90,
        capacityAt: (seconds) => (seconds % 40 < 20 ? 100 : 10),
        burst: 10,
        seconds: 240,
        fair: {},
      }
      for (const seed of seeds) {
        expect(servedOfNone(service, seed, 0, 240)).toBeGreaterThan(0.5)
      }
    },
  )

  it('that was nearly none for two minutes: a store of two is used again, if not to the full', () => {
    const asks = Array.from({ length: 22 }, (_, flow) => (flow < 2 ? 20 : 1))
    const service: Service = {
      ratesAt: () => asks,
      mostAsked: 60,
      capacityAt: between(60, 180, 8, 200),
      burst: 2,
      seconds: 960,
      fair: {},
    }
    for (const seed of seeds) {
      expect(servedOfNone(service, seed, 900, 960)).toBeGreaterThan(0.4)
    }
  })

  it('to double: is found within ten seconds', () => {
    for (const seed of seeds) {
      const { tally } = runService({ ...noisy, capacityAt: between(30, 60, 100, 50) }, seed)
      expect(tally.share(quiet, 40, 60)).toBeGreaterThan(0.94)
      expect(tally.total('served', all, 40, 60) / 2000).toBeGreaterThan(0.92)
    }
  })

  it.each(byWidth([300], [10, 300]))(
    'to nothing, for %i seconds: no more is tried than was served before, and all is back soon',
    (outage) => {
      for (const seed of seeds) {
        const end = 30 + outage
        const { tally } = runService({ ...noisy, capacityAt: between(30, end, 0, 100), seconds: end + 40 }, seed)
        const before = runService({ ...noisy, seconds: 30 }, seed).tally.failed
        // No more than the rate that the resource delivered before.
        expect((tally.failed - before) / outage).toBeLessThan(100)
        expect(tally.share(quiet, end + 10, end + 30)).toBeGreaterThan(0.94)
        expect(tally.total('served', all, end + 10, end + 30) / 2000).toBeGreaterThan(0.95)
      }
    },
  )
})

describe('a client that invents names', () => {
  it.each(byWidth([3], [1, 3, 30]))(
    'of %d requests each, takes hardly anything from the others; without any control, a third',
    (uses) => {
      for (const seed of seeds) {
        // Flow 18 asks for the whole capacity.
        const [served, without] = ([{ rule: 'fair-clock' }, false] as const).map((fair) => {
          let requests = 0
          const nameOf = (flow: number): string =>
            flow === 18 ? `new-${Math.floor(requests++ / uses)}` : `flow-${flow}`
          const inventive = { ...noisy, ratesAt: () => [...rates.slice(0, 18), 100], nameOf, fair }
          return runService(inventive, seed).tally.share(quiet, 20, 60)
        })
        expect(served).toBeGreaterThan(0.95)
        expect(without).toBeLessThan(0.75)
      }
    },
  )
})

describe('a pool of workers, without a store of anything', () => {
  it.runIf(byWidth(false, true)).each([
    [5, 0.7, 100],
    [5, 0.9, 100],
    [20, 0.9, 200],
  ])(
    'of %d, at a load of %d, without noisy flows: serves 0.75 of what it serves without',
    (workers, load, perSecond) => {
      const ratesAt = () => all.map(() => (load * perSecond) / all.length)
      const pool = { ...noisy, workers, ratesAt, mostAsked: perSecond, capacityAt: () => perSecond, seconds: 400 }
      for (const seed of seeds) expect(servedOfNone(pool, seed, 0, 400)).toBeGreaterThan(0.75)
    },
  )

  it.each(byWidth([5], [5, 20]))('of %i: serves the quiet better than without, and is used', (workers) => {
    for (const seed of seeds) {
      const { tally } = runService({ ...noisy, workers }, seed)
      const { tally: without } = runService({ ...noisy, workers, fair: false }, seed)
      expect(tally.share(quiet, 20, 60)).toBeGreaterThan(without.share(quiet, 20, 60) - 0.02)
      expect(tally.total('served', all, 20, 60) / without.total('served', all, 20, 60)).toBeGreaterThan(0.5)
    }
  })

  it('loses what letting in less costs it once, and not again at each look', () => {
    const crowd = all.map(() => 30)
    for (const seed of seeds) {
      const service = { ...noisy, workers: 6, ratesAt: () => crowd, mostAsked: 600 }
      const { tally } = runService(service, seed)
      const { tally: without } = runService({ ...service, fair: false }, seed)
      expect(tally.total('served', all, 20, 60) / without.total('served', all, 20, 60)).toBeGreaterThan(0.6)
    }
  })
})

describe('when overload ends', () => {
  it('nobody is refused ten seconds later, and nobody thirty seconds later for what they did before', () => {
    const after = all.map((flow) => (flow < 18 ? 10 / 3 : 10))
    for (const seed of seeds) {
      const { tally } = runService({ ...noisy, ratesAt: (t) => (t < 30 ? rates : after), seconds: 90 }, seed)
      expect(tally.total('refused', loud, 20, 30)).toBeGreaterThan(100)
      expect(tally.total('refused', all, 40, 90)).toBe(0)
    }
  })

  it.runIf(byWidth(false, true)).each([
    [0.1, 0.03],
    [0.01, 0.04],
    [0.01, 0.05],
  ])(
    'at most %d is refused where %d fail for another reason, and nine tenths of the capacity are asked for',
    (most, share) => {
      const less = all.map((flow) => (flow < 18 ? 20 / 3 : 30))
      const service = { ...twice, ratesAt: (second: number) => (second < 120 ? twice.ratesAt(0) : less) }
      for (const seed of seeds) {
        const { tally } = runService({ ...service, seconds: 900, failsAt: () => share }, seed)
        expect(tally.total('refused', all, 300, 900) / tally.total('asked', all, 300, 900)).toBeLessThan(most)
      }
    },
  )

  it('leaves an aggressor that stopped no penalty in the shortage that goes on', () => {
    // Flow 18 is loud for 30 s and then as quiet as the others; 19 stays loud and keeps the resource short.
    const after = all.map((flow) => (flow < 19 ? 10 / 3 : 120))
    for (const seed of seeds) {
      const { tally } = runService(
        { ...noisy, ratesAt: (t) => (t < 30 ? rates : after), mostAsked: 190, seconds: 120 },
        seed,
      )
      expect(tally.share([18], 10, 30)).toBeLessThan(0.7)
      expect(tally.share([18], 60, 120)).toBeGreaterThan(0.94)
    }
  })
})

describe('a refusal', () => {
  it('explains itself, and says when to come back', () => {
    const clock = manualClock()
    const gate = createGate({ clock, random: seededRandom(1) })
    const ask = (flow: string) => gate.admit({ flow }) as Decision
    // Ten flows ask for four times the rate of a bucket of 50 a second.
    let tokens = 10
    for (let i = 0; i < 2_000; i++) {
      clock.advance(5)
      tokens = Math.min(10, tokens + 0.25)
      const permit = ask(`flow-${i % 10}`)
      if (!permit.admitted) continue
      permit.finish(tokens >= 1 ? 'success' : 'failure')
      if (tokens >= 1) tokens--
    }
    ask('loud')
    let decision = ask('flow-1')
    for (let i = 0; decision.admitted && i < 100; i++) {
      decision.finish('success')
      decision = ask('flow-1')
    }
    if (decision.admitted) throw new Error('never refused')
    expect(decision).toMatchObject({ stage: 'fair', reason: 'unfair', shortage: false, detail: { engaged: true } })
    const detail = decision.detail as { credit: number; fairRatePerSecond: number; capacityPerSecond: number }
    expect(detail.credit).toBeLessThan(0)
    expect(detail.capacityPerSecond).toBeGreaterThan(0)
    expect(decision.retryAfterMs).toBeGreaterThan((-1000 * detail.credit) / detail.fairRatePerSecond)
    expect(decision.retryAfterMs).toBeLessThanOrEqual(30_000)
    expect(gate.snapshot().stages['fair']).toMatchObject({ rule: 'fair-clock', engaged: true })
  })

  it.each(byWidth([20], [4, 20, 50]))(
    'keeps the clients of a flow from coming back together: %d of each of three',
    (clients) => {
      const clock = manualClock()
      const random = seededRandom(1)
      const gate = createGate({ clock, random })
      const waiting = Array.from({ length: 3 * clients }, (_, client) => ({
        atMs: 100 * random(),
        flow: `${client % 3}`,
      }))
      let [tokens, lastMs, attempts, served] = [20, 0, 0, 0]
      for (let calls = 0; calls < 300_000; calls++) {
        const next = waiting.reduce((first, other) => (other.atMs < first.atMs ? other : first))
        if (next.atMs > 50_000) break
        clock.advance(next.atMs - clock())
        const decision = gate.admit({ flow: next.flow }) as Decision
        const isCounted = next.atMs > 20_000 // until then the shortage is found
        if (isCounted) attempts++
        // A client that was refused waits as long as it was told, another for its answer, 20 ms. 100 a second are served.
        next.atMs += decision.admitted ? 20 : decision.retryAfterMs
        if (!decision.admitted) continue
        tokens = Math.min(20, tokens + (next.atMs - lastMs) / 10)
        lastMs = next.atMs
        decision.finish(tokens >= 1 ? 'success' : 'failure')
        if (tokens < 1) continue
        tokens--
        if (isCounted) served++
      }
      expect(served).toBeGreaterThan(0.95 * 100 * 30)
      expect(attempts / served).toBeLessThan(20)
    },
  )
})

describe('demand below capacity', () => {
  it('is never refused', () => {
    for (const seed of seeds) {
      const { tally } = runService({ ...noisy, capacityAt: () => 250, burst: 50 }, seed)
      expect(tally.total('refused', all, 0, 60)).toBe(0)
    }
  })

  it('is not refused while nothing at all is served either: there is nothing to share', () => {
    const gate = createGate({ clock: manualClock(), fair: { rule: 'fair-clock' } })
    for (let i = 0; i < 200; i++) (gate.admit({ flow: `flow-${i % 7}` }) as Permit).finish('failure')
    expect(gate.snapshot().refused).toBe(0)
  })
})

describe('weights and costs', () => {
  it('gives three times the weight three times as much', () => {
    const weightOf = (flow: string): number => (flow === 'flow-0' ? 3 : 1)
    for (const seed of seeds) {
      const { tally } = runService(
        { ...noisy, ratesAt: () => [80, 80, 80], mostAsked: 240, seconds: 90, fair: { rule: 'fair-clock', weightOf } },
        seed,
      )
      const [heavy, ...light] = [0, 1, 2].map((flow) => tally.total('served', [flow], 20, 90)) as [
        number,
        number,
        number,
      ]
      for (const served of light) expect(heavy / served / 3).toBeCloseTo(1, 1)
      expect((heavy + light[0]! + light[1]!) / 7000).toBeGreaterThan(0.97)
    }
  })

  it('gives equal shares of cost, whatever a request costs', () => {
    for (const seed of seeds) {
      const costOf = (flow: number): number => (flow === 0 ? 4 : 1)
      const { tally } = runService(
        { ...noisy, ratesAt: () => [25, 100, 100], mostAsked: 225, seconds: 90, costOf },
        seed,
      )
      const served = [0, 1, 2].map((flow) => tally.total('served', [flow], 20, 90))
      for (const cost of served) expect(cost / (7000 / 3)).toBeGreaterThan(0.83)
    }
  })
})

describe('a refusal of a later stage that is no shortage', () => {
  const full: Stage = { name: 'quota', admit: () => refuse('quota', 'spent', false, 1_000) }
  const snapshotOf = (stages: readonly Stage[]) => {
    const { tally, gate } = runService({ ...noisy, stages, seconds: 10 }, 1)
    return { tally, fair: gate.snapshot().stages['fair'] as { failures: number; refused: number; engaged: boolean } }
  }

  it('is no failure, and costs the flow nothing', () => {
    const { tally, fair } = snapshotOf([full])
    expect(tally.total('asked', all, 0, 10)).toBeGreaterThan(1000)
    expect(fair).toMatchObject({ failures: 0, refused: 0, engaged: false })
  })

  it('gives the charge back while the resource is short', () => {
    let spent = false
    const quota: Stage = {
      name: 'quota',
      admit: ({ flow }) => (spent && flow === 'flow-0' ? refuse('quota', 'spent', false, 1_000) : undefined),
    }
    const { gate } = runService({ ...noisy, stages: [quota], seconds: 30 }, 1)
    expect(gate.snapshot().stages['fair']).toMatchObject({ engaged: true })
    spent = true
    // At one instant: with a charge for each, the credit of a dozen would be used up.
    for (let i = 0; i < 100; i++) expect(gate.admit({ flow: 'flow-0' })).toMatchObject({ stage: 'quota' })
  })
})

describe('before a waiting room', () => {
  it('leaves the refusing to a queue that is fair itself: it turns away the loud, and the quiet hardly notice', async () => {
    const world = new World()
    const random = seededRandom(5)
    const gate = createGate({
      fair: { rule: 'fair-clock' },
      queue: requestQueue({ concurrency: 10, maxWaitMs: 200, maxWaiting: 40, queues: 8 }),
      clock: world.clock,
      after: world.after,
      random,
    })
    const asked = all.map(() => 0)
    const served = all.map(() => 0)
    const late = 20_000
    const end = byWidth(40_000, 60_000)
    let askAtMs = 0
    const settled = async (): Promise<void> => {
      for (let i = 0; i < 8; i++) await Promise.resolve()
    }
    while (world.clock() < end) {
      const nextMs = Math.min(askAtMs, world.nextMs)
      world.advance(nextMs - world.clock())
      await settled()
      if (nextMs < askAtMs) continue
      askAtMs += (-1000 * Math.log(1 - random())) / 160
      let pick = random() * 160
      const flow = rates.findIndex((rate) => {
        pick -= rate
        return pick < 0
      })
      const counts = world.clock() > late
      if (counts) asked[flow]!++
      void Promise.resolve(gate.admit({ flow: `flow-${flow}` })).then((decision) => {
        if (!decision.admitted) return
        if (counts) served[flow]!++
        // Ten at once, 100 ms each: 100 a second.
        world.after(-100 * Math.log(1 - random()), () => decision.finish('success'))
      })
      await settled()
    }
    const sum = (counts: readonly number[], flows: readonly number[]): number =>
      flows.reduce((total, flow) => total + counts[flow]!, 0)
    expect(sum(served, quiet) / sum(asked, quiet)).toBeGreaterThan(0.94)
    // The queue limits the loud flows to their share of its slots, so more of their requests wait too long, and FAIR
    // admits less.
    expect(sum(served, all) / ((end - late) / 10)).toBeGreaterThan(0.8)
  })
})

describe('the unit of costs', () => {
  /** Counts for every second of a minute, with requests of this cost. */
  const served = (service: Service, cost: number): number[][] => {
    const inUnits: Service = {
      ...service,
      costOf: (flow) => cost * (service.costOf?.(flow) ?? 1),
      capacityAt: (seconds) => (service.workers === undefined ? cost : 1) * service.capacityAt(seconds),
      burst: cost * service.burst,
    }
    return runService(inUnits, 1).tally.served.map((seconds) => seconds.map((sum) => sum / cost))
  }

  const few: [string, Partial<Service>][] = [
    ['a pool of workers', { workers: 20 }],
    [
      'dear requests and cheap ones, and a bucket that is empty for a while',
      {
        costOf: (flow) => 1 + (flow % 4),
        capacityAt: (seconds) => (seconds > 20 && seconds < 30 ? 0 : 250),
        burst: 50,
      },
    ],
  ]
  const more: [string, Partial<Service>][] = [
    ['a bucket', {}],
    [
      'a small service',
      { ratesAt: () => rates.map((rate) => rate / 50), mostAsked: 3.2, capacityAt: () => 2, burst: 4 },
    ],
    ['outcomes that are late, or never come', { delay: 0.2, spread: 0.8, lost: 0.1 }],
  ]

  // By powers of two nothing is rounded.
  it.each(byWidth(few, [...few, ...more]))('changes nothing: %s', (_, change) => {
    const service = { ...noisy, ...change }
    const ones = served(service, 1)
    expect(served(service, 2 ** -30)).toEqual(ones)
    expect(served(service, 2 ** 30)).toEqual(ones)
  })
})

describe('weights far from 1', () => {
  const equal = byWidth([1e6], [1e-6, 0.01, 100, 1e6])

  it.each(equal)('leave hardly anything unused if all are %d', (weight) => {
    for (const flows of [2, 20]) {
      const asked = Array.from({ length: flows }, () => 300 / flows)
      const service: Service = { ...noisy, ratesAt: () => asked, mostAsked: 300, fair: { weightOf: () => weight } }
      const { tally } = runService(service, 1)
      expect(tally.total('served', [...asked.keys()], 10, 60) / 5000).toBeGreaterThan(0.94)
    }
  })

  it.each(equal)('share a pool of workers as ones do if all are %d', (weight) => {
    const asked = [150, 150]
    const service: Service = { ...noisy, workers: 20, ratesAt: () => asked, mostAsked: 300 }
    const served = [1, weight].map((each) => {
      const { tally } = runService({ ...service, fair: { weightOf: () => each } }, 1)
      return tally.total('served', [0, 1], 10, 60)
    })
    expect(served[1]! / served[0]!).toBeGreaterThan(0.93)
  })

  it('leave nothing unused if one is 100 times as heavy as many others, and both are refused in turn', () => {
    const asked = Array.from({ length: 101 }, (_, flow) => (flow === 0 ? 100 : 2))
    const weightOf = (flow: string): number => (flow === 'flow-0' ? 100 : 1)
    const { tally } = runService({ ...noisy, ratesAt: () => asked, mostAsked: 300, fair: { weightOf } }, 1)
    expect(tally.total('served', [...asked.keys()], 10, 60) / 5000).toBeGreaterThan(0.97)
    expect(tally.share([0], 30, 60) / 0.5).toBeCloseTo(1, 1)
  })
})

describe('an outage of a service that has enough otherwise', () => {
  const few: [number, number[]][] = [[300, [10, 10, 10]]]

  it.each(byWidth(few, [...few, [10, rates], [60, rates], [300, rates]]))(
    'of %i seconds: nobody is refused half a minute after it',
    (outage, asked) => {
      const flows = [...asked.keys()]
      const mostAsked = asked.reduce((sum, rate) => sum + rate, 0)
      for (const seed of seeds) {
        const end = 30 + outage
        const capacityAt = (seconds: number): number => (seconds > 30 && seconds < end ? 0 : 2 * mostAsked)
        const change = { ratesAt: () => asked, mostAsked, capacityAt, burst: mostAsked, seconds: end + 60 }
        const { tally } = runService({ ...noisy, ...change }, seed)
        expect(tally.total('refused', flows, 0, 30)).toBe(0)
        expect(tally.total('refused', flows, end + 30, end + 60)).toBe(0)
        expect(tally.share(flows, end + 15, end + 60)).toBeGreaterThan(0.8)
      }
    },
  )
})

describe('a capacity that falls, and returns after two minutes', () => {
  it.runIf(byWidth(false, true))('or does not, at few requests a second, where a test takes longer', () => {
    const capacityAt = (second: number): number => (second > 300 ? 5 : 50)
    const ratesAt = (): readonly number[] => all.map((flow) => (flow < 18 ? 3.5 / 18 : 22))
    const fallen = { ...noisy, capacityAt, ratesAt, mostAsked: 48, burst: 50, seconds: 3_000 }
    for (const seed of seeds) expect(runService(fallen, seed).tally.share(quiet, 420, 3_000)).toBeGreaterThan(0.8)
  })

  it.runIf(byWidth(false, true))('or does not: tests of each minute cost the quiet little', () => {
    const capacityAt = (second: number): number => (second > 120 ? 80 : 200)
    for (const seed of seeds)
      expect(runService({ ...noisy, capacityAt, seconds: 600 }, seed).tally.share(quiet, 180, 600)).toBeGreaterThan(
        0.96,
      )
  })

  it.each(
    byWidth(
      [[0.08, 80]] as const,
      [
        [0, 80],
        [0.02, 80],
        [0.05, 80],
        [0.08, 80],
        [0.15, 80],
        [0.05, 20],
      ] as const,
    ),
  )('is used again from a minute later on, where %d fail for another reason, after %d a second', (share, low) => {
    const fallen = { ...noisy, capacityAt: (second: number) => (second > 120 && second < 240 ? low : 200), burst: 40 }
    for (const seed of seeds)
      expect(servedOfNone({ ...fallen, seconds: 420, failsAt: () => share }, seed, 300, 420)).toBeGreaterThan(0.95)
  })
})

describe('in an overload', () => {
  const costs = [1, 1, 1, 1, 10, 10, 1, 1, 1, 100]
  const unrelated: [string, Partial<Service>][] = [
    ['outcomes a second late', { delay: 1 }],
    [
      'costs from 1 to 100',
      { costOf: (flow) => costs[flow % 10]!, ratesAt: () => all.map((flow) => (flow < 18 ? 1.5 : 3)) },
    ],
  ]
  it.runIf(byWidth(false, true)).each(unrelated)(
    '0.05 fail for another reason, %s: 0.7 of what is served without control is served at least',
    (_, change) => {
      for (const seed of seeds)
        expect(servedOfNone({ ...twice, failsAt: () => 0.05, ...change, seconds: 300 }, seed, 60, 300)).toBeGreaterThan(
          0.7,
        )
    },
  )

  it.runIf(byWidth(false, true))('a store of two serves 0.65 of that at least', () => {
    const small = { ...twice, capacityAt: () => 10, burst: 2, ratesAt: () => twice.ratesAt(0).map((rate) => rate / 20) }
    for (const seed of seeds) expect(servedOfNone({ ...small, seconds: 300 }, seed, 60, 300)).toBeGreaterThan(0.65)
  })

  it.runIf(byWidth(false, true)).each([
    [5, 100],
    [20, 400],
  ])('a pool of %d serves 0.55 of that at least, and the quiet much more', (workers, perSecond) => {
    const pool = { ...twice, workers, capacityAt: () => perSecond, mostAsked: 2 * perSecond, seconds: 300 }
    const noisyAsk = all.map((flow) => (flow < 18 ? (0.4 * perSecond) / 18 : 0.8 * perSecond))
    const evenAsk = all.map(() => perSecond / 10)
    for (const seed of seeds) {
      for (const ask of [noisyAsk, evenAsk])
        expect(servedOfNone({ ...pool, ratesAt: () => ask }, seed, 60, 300)).toBeGreaterThan(0.55)
      const [served, without] = [{}, false].map((fair) =>
        runService({ ...pool, ratesAt: () => noisyAsk, fair }, seed).tally.share(quiet, 60, 300),
      )
      expect(served).toBeGreaterThan(0.65)
      expect(without).toBeLessThan(0.5)
    }
  })

  it.each(
    byWidth(
      [[5, 0.85, 4]] as const,
      [
        [3, 0.85, 1],
        [5, 0.85, 4],
        [5, 0.85, 1],
        [6, 0.75, 9],
        [8, 0.6, 3],
        [20, 0.6, 2],
      ] as const,
    ),
  )(
    'failures may be known %d seconds later than successes: light flows get %d (seed %d)',
    (failsLater, least, seed) => {
      const flows = Array.from({ length: 55 }, (_, flow) => flow)
      const asked = flows.map((flow) => (flow < 50 ? 1 : 30))
      const service = { ...noisy, ratesAt: () => asked, mostAsked: 200, seconds: 900, failsLater }
      expect(runService(service, seed).tally.share(flows.slice(0, 50), 120, 900)).toBeGreaterThan(least)
    },
  )

  it.each(byWidth([0.05], [0.04, 0.05, 0.08]))('%d may fail for another reason', (share) => {
    for (const seed of seeds) {
      const { tally } = runService({ ...twice, seconds: 400, failsAt: () => share }, seed)
      expect(tally.total('served', all, 200, 400) / 40_000).toBeGreaterThan(0.95)
    }
  })
})

describe('time-outs of requests, for a reason of their own', () => {
  it.each(byWidth([0.3], [0.15, 0.3]))(
    'are no shortage, although they are known a second later than successes: %d of all',
    (share) => {
      for (const seed of seeds) {
        const service = { ...noisy, burst: 1e9, seconds: 240, failsAt: () => share, delay: 0.02, failsLater: 1 }
        const { tally } = runService(service, seed)
        expect(tally.total('refused', all, 120, 240) / tally.total('asked', all, 120, 240)).toBeLessThan(0.04)
      }
    },
  )
})
