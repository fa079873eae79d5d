import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Permit } from '../admission/decision.js'
import type { Gate } from '../admission/gate.js'
import type { Outcome } from '../admission/outcome.js'
import { createGate } from '../create-gate.js'
import { HttpVisit } from './http-visit.js'

const judge = {
  gate: createGate({ fair: false }),
  outcome: ({ isGone }: { isGone: boolean }) => (isGone ? 'ignored' : 'success') as Outcome,
}

function admitted(gate: Gate): Permit {
  const decision = gate.admit({ flow: 'a' })
  if (decision instanceof Promise || !decision.admitted) throw new Error('not admitted')
  return decision
}

describe('the release rule', () => {
  it('releases once, when the response has ended and the permit has no holder, in any order of events', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('end', 'abort', 'hold', 'done', 'admit')), (steps) => {
        const gate = createGate({ fair: false })
        const visit = new HttpVisit(judge, [], undefined)
        const holds: (() => void)[] = []
        let ended: string | undefined
        let permit: Permit | undefined
        let released = false
        for (const step of steps) {
          if (step === 'end' || step === 'abort') {
            visit.responseEnded(step === 'abort')
            // A request that was answered before its admission counts as aborted.
            ended ??= permit === undefined ? 'abort' : step
          } else if (step === 'hold') holds.push(visit.hold())
          else if (step === 'done') {
            const done = holds.pop()
            done?.()
            done?.()
          } else if (permit === undefined) {
            permit = admitted(gate)
            expect(visit.admit(permit)).toBe(ended === undefined)
          }
          released ||= permit !== undefined && ended !== undefined && holds.length === 0
          expect(permit?.finished ?? false).toBe(released)
        }
        const { success, ignored } = gate.snapshot().finished
        expect([success, ignored]).toEqual([released && ended === 'end' ? 1 : 0, released && ended === 'abort' ? 1 : 0])
      }),
    )
  })

  it('keeps it until what is like a promise has settled, and asks that once', async () => {
    const gate = createGate({ fair: false })
    const visit = new HttpVisit(judge, [], undefined)
    visit.admit(admitted(gate))
    let asked = 0
    let settle = (_: string): void => {}
    const query = {
      // biome-ignore lint/suspicious/noThenProperty: a query of some libraries
      then(kept: (rows: string) => void) {
        asked++
        settle = kept
      },
    }
    const result = visit.run(() => query)
    visit.responseEnded(false)
    await Promise.resolve()
    expect(gate.snapshot().inFlight).toBe(1)
    settle('rows')
    expect([await result, asked]).toEqual(['rows', 1])
    expect(gate.snapshot().inFlight).toBe(0)
  })

  it('fires the signal when the client is gone, before the permit is released, and never otherwise', () => {
    const gate = createGate({ fair: false })
    const [left, stayed] = [new HttpVisit(judge, [], undefined), new HttpVisit(judge, [], undefined)]
    const seen: boolean[] = []
    for (const visit of [left, stayed]) {
      visit.admit(admitted(gate))
      visit.signal.addEventListener('abort', () => seen.push(visit.permit?.finished === true))
    }
    left.responseEnded(true)
    stayed.responseEnded(false)
    expect(seen).toEqual([false])
    expect([left.signal.aborted, stayed.signal.aborted]).toEqual([true, false])
    expect([left.isGone, stayed.isGone]).toEqual([true, false])
  })

  it('leaves the line when something else has answered the request meanwhile', () => {
    const visit = new HttpVisit(judge, [], undefined)
    const { signal } = visit
    visit.responseEnded(false)
    expect(signal.aborted).toBe(true)
  })

  it('gives a late reader a signal that has already fired', () => {
    const visit = new HttpVisit(judge, [], undefined)
    visit.responseEnded(true)
    expect(visit.signal.aborted).toBe(true)
    expect(visit.signal).toBe(visit.signal)
  })

  it('holds and fails the visits to outer gates with the innermost', () => {
    const gates = [createGate({ fair: false }), createGate({ fair: false })] as const
    const outer = new HttpVisit(judge, [], undefined)
    const inner = new HttpVisit(judge, [], outer)
    outer.admit(admitted(gates[0]))
    inner.admit(admitted(gates[1]))
    const done = inner.hold()
    inner.failed('why')
    outer.responseEnded(false)
    inner.responseEnded(false)
    expect(gates.map((gate) => gate.snapshot().inFlight)).toEqual([1, 1])
    done()
    done()
    expect(gates.map((gate) => gate.snapshot().inFlight)).toEqual([0, 0])
    expect(outer.error).toBe('why')
  })

  it('knows the gates of outer visits, also of another copy of the package', () => {
    const [near, far, other] = [createGate(), createGate(), createGate()]
    const { signal } = new AbortController()
    const ignores = { permit: undefined, signal, hold: () => () => {}, failed() {}, judgedInside() {} }
    const foreign = { ...ignores, gate: near, passed: (gate: Gate) => gate === far }
    const inner = new HttpVisit(judge, [], new HttpVisit(judge, [], foreign))
    expect([near, far, judge.gate, other].map((gate) => inner.passed(gate))).toEqual([true, true, true, false])
    expect(new HttpVisit(judge, [], undefined).passed(near)).toBe(false)
  })
})
