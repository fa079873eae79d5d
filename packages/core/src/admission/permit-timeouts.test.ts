import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fixed } from '../capacity/index.js'
import { createGate } from '../create-gate.js'
import { requestQueue } from '../queue/request-queue.js'
import { manualClock } from '../testing/manual-clock.js'
import { probeStage } from '../testing/stages.js'
import type { Decision, Permit } from './decision.js'
import type { Gate } from './gate.js'

function admit(gate: Gate): Permit {
  const decision = gate.admit({ flow: 'a' })
  if (decision instanceof Promise || !decision.admitted) throw new Error('not admitted')
  return decision
}

describe('a permit with a lease', () => {
  it('ends as ignored at the next call once its time is up, and later words about it do nothing', () => {
    const clock = manualClock()
    const probe = probeStage()
    const gate = createGate({ fair: false, stages: [probe], permitTimeoutMs: 1_000, clock })
    const forgotten = admit(gate)
    clock.advance(999)
    admit(gate).finish('success')
    expect(forgotten.finished).toBe(false)
    clock.advance(1)
    expect(gate.snapshot().inFlight).toBe(1)
    admit(gate)
    expect(forgotten.finished).toBe(true)
    forgotten.finish('success')
    expect(probe.outcomes).toEqual(['success', 'ignored'])
    expect(gate.snapshot()).toMatchObject({ inFlight: 1, expired: 1, finished: { success: 1, ignored: 1 } })
  })

  it('never ends where no lease was asked for', () => {
    const clock = manualClock()
    const gate = createGate({ fair: false, clock })
    const permit = admit(gate)
    clock.advance(1e12)
    gate.wake()
    admit(gate)
    expect(permit.finished).toBe(false)
  })

  it('counts from the admission, not from the question', async () => {
    const clock = manualClock()
    const gate = createGate({
      fair: false,
      queue: requestQueue({ concurrency: 1, maxWaitMs: 5_000 }),
      permitTimeoutMs: 1_000,
      clock,
      after,
    })
    const first = admit(gate)
    const waiting = gate.admit({ flow: 'b' })
    clock.advance(900)
    first.finish('success')
    const second = (await waiting) as Permit
    clock.advance(900)
    gate.wake()
    expect(second.finished).toBe(false)
    clock.advance(100)
    gate.wake()
    expect(second.finished).toBe(true)
  })

  it('frees what it held for those that wait', async () => {
    const clock = manualClock()
    const gate = createGate({
      fair: false,
      queue: requestQueue({ concurrency: 1, maxWaitMs: 5_000 }),
      permitTimeoutMs: 1_000,
      clock,
      after,
    })
    admit(gate)
    const waiting = gate.admit({ flow: 'b' })
    clock.advance(1_000)
    gate.wake()
    expect(await waiting).toMatchObject({ admitted: true })
  })

  it.each([0, -1, Number.NaN, '5'])('of %j is refused', (permitTimeoutMs) => {
    expect(() => createGate({ permitTimeoutMs: permitTimeoutMs as number })).toThrow(/^permitTimeoutMs must be/)
  })

  it('is over exactly for unfinished permits of that age', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 60 }) }),
      fc.record({ kind: fc.constant('admit' as const) }),
      fc.record({ kind: fc.constant('finish' as const), which: fc.nat() }),
    )
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const clock = manualClock()
        const gate = createGate({ fair: false, permitTimeoutMs: 100, clock })
        const permits: { permit: Permit; atMs: number; done: boolean }[] = []
        for (const step of steps) {
          if (step.kind === 'pass') clock.advance(step.ms)
          else if (step.kind === 'admit') permits.push({ permit: admit(gate), atMs: clock(), done: false })
          else {
            const chosen = permits[step.which % permits.length]
            chosen?.permit.finish('success')
            if (chosen !== undefined) chosen.done = true
          }
          gate.wake()
          for (const entry of permits) {
            entry.done ||= clock() - entry.atMs >= 100
            expect(entry.permit.finished).toBe(entry.done)
          }
        }
        expect(gate.snapshot().inFlight).toBe(permits.filter(({ done }) => !done).length)
      }),
    )
  })
})

/** A timer that never fires, as on a runtime that drops the timers of a finished request. */
const after = (): (() => void) => () => {}

describe('a gate whose timers have died', () => {
  it('turns away, when woken, what has waited for too long', async () => {
    const clock = manualClock()
    const gate = createGate({
      fair: false,
      queue: requestQueue({ concurrency: fixed(1), maxWaitMs: 500 }),
      clock,
      after,
    })
    admit(gate)
    let decision: Decision | undefined
    const waiting = Promise.resolve(gate.admit({ flow: 'b' })).then((answer) => {
      decision = answer
    })
    clock.advance(499)
    gate.wake()
    await Promise.resolve()
    expect(decision).toBeUndefined()
    clock.advance(1)
    gate.wake()
    await waiting
    expect(decision).toMatchObject({ admitted: false, reason: 'expired' })
  })

  it('wakes all stages, though one throws', () => {
    const woken: number[] = []
    const clock = manualClock(7)
    const stages = [
      {
        name: 'broken',
        admit: () => undefined,
        wake: () => {
          throw new Error('asleep')
        },
      },
      { name: 'sound', admit: () => undefined, wake: (nowMs: number) => void woken.push(nowMs) },
    ]
    const gate = createGate({ fair: false, stages, clock })
    gate.wake()
    expect(woken).toEqual([clock()])
    expect(gate.snapshot().stageErrors).toBe(1)
  })
})
