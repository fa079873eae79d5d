import { describe, expect, it } from 'vitest'
import { createGate, type Permit, refuse, type Stage } from '../index.js'
import { settled } from '../testing/world.js'

const rejects = async (): Promise<never> => {
  throw new Error('the store is away')
}
const throws = (): never => {
  throw new Error('the store is away')
}
/** A function that returns a value is assignable to one that returns void, so the types accept async methods. */
const idle = { finish: () => {}, undo: () => {} }

async function gateWith(stage: Partial<Stage>, refused = false) {
  const errors: unknown[] = []
  const refusing: Stage[] = refused ? [{ name: 'no', admit: () => refuse('no', 'no', false, 0) }] : []
  const gate = createGate({ fair: false, stages: [{ name: 'own', admit: () => undefined, ...stage }, ...refusing] })
  gate.observe((event) => event.type === 'error' && errors.push(event.error), 'error')
  return { gate, errors }
}

/** An unhandled rejection would end the process, and these tests with it. */
describe('a method of a stage that is async and rejects', () => {
  it.each(['finish', 'charge', 'undo'] as const)('is told as an error of the stage: %s of a hold', async (method) => {
    const admit = () => ({ ...idle, [method]: rejects })
    const { gate, errors } = await gateWith({ admit }, method === 'undo')
    const decision = gate.admit({ flow: 'a' }) as Permit
    if (decision.admitted) {
      decision.charge(2)
      decision.finish('success')
    }
    await settled()
    expect(String(errors)).toBe('Error: the store is away')
    expect(gate.snapshot().stageErrors).toBe(1)
  })

  it.each(['forget', 'wake', 'close'] as const)('is told as an error of the stage: %s', async (method) => {
    const { gate, errors } = await gateWith({ [method]: rejects })
    gate.resetFlow('a')
    gate.wake()
    gate.close()
    await settled()
    expect(String(errors)).toBe('Error: the store is away')
  })

  it.each(['quota', 'contest'] as const)('is told as an error, and answers nothing: %s of a hold', async (method) => {
    for (const answer of [rejects, method === 'quota' ? rejects : throws]) {
      const { gate, errors } = await gateWith({ admit: () => ({ ...idle, [method]: answer }) as never })
      const permit = gate.admit({ flow: 'a' }) as Permit
      expect(permit.quotas()).toEqual([])
      expect(permit.contest()).toBe('none')
      await settled()
      expect(errors).toHaveLength(1)
    }
  })

  it('is told as an error of the stage: snapshot and explain', async () => {
    const { gate, errors } = await gateWith({ snapshot: rejects, explain: rejects })
    gate.snapshot()
    gate.explain('a')
    await settled()
    expect(errors.map(String)).toEqual(['Error: the store is away', 'Error: the store is away'])
  })
})

describe('an option that must answer at once and is async', () => {
  it('is told as a mistake, and its rejection is heard', async () => {
    const { requestQueue } = await import('../queue/index.js')
    const { escrow } = await import('../escrow/index.js')
    const asynchronous = rejects as never
    const gate = createGate({
      weightOf: asynchronous,
      budget: escrow({ limit: 5, windowMs: 1_000 }),
      queue: requestQueue({
        concurrency: 1,
        width: asynchronous,
        classOf: asynchronous,
        bandOf: asynchronous,
        bands: [{}, {}],
        deadlineMsOf: asynchronous,
        perFlowConcurrency: asynchronous,
      }),
    })
    const errors: unknown[] = []
    gate.observe((event) => event.type === 'error' && errors.push(event.error), 'error')
    const first = gate.admit({ flow: 'a' })
    void gate.admit({ flow: 'a' })
    await settled()
    expect(await first).toMatchObject({ admitted: true })
    expect(errors.length).toBeGreaterThan(4)
    expect(errors.map(String).filter((error) => !/must be .*, got a promise/.test(error))).toEqual([])
  })

  it('is a bad sample, where it is a meter', async () => {
    const { loadShedder } = await import('../shed/load-shedder.js')
    const gate = createGate({ fair: false, shed: loadShedder({ signal: rejects as never, from: 1, to: 2 }) })
    expect(gate.admit({ flow: 'a' })).toMatchObject({ admitted: true })
    await settled()
    expect(gate.snapshot()).toMatchObject({ stages: { shed: { signals: [{ problem: 'bad sample: a promise' }] } } })
  })
})
