import { describe, expect, it } from 'vitest'
import type { Permit } from '../admission/decision.js'
import { createGate } from '../create-gate.js'
import { escrow } from '../escrow/mechanism.js'
import { Overrides } from '../index.js'
import type { Flow } from '../path.js'
import { manualClock } from '../testing/index.js'
import { fairLimit, RequestQueue } from './index.js'
import { requestQueue } from './request-queue.js'

async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

describe('a path that its caller changes later', () => {
  it.each<[string, (path: unknown[]) => void]>([
    ['to no name', (path) => path.splice(0)],
    ['to a number', (path) => path.splice(0, 2, 5)],
    ['to itself', (path) => path.push(path)],
    ['to another name', (path) => path.splice(0, 1, 'victim')],
  ])('counts as it was, and no slot is lost: %s', async (_, change) => {
    const queue = new RequestQueue({ concurrency: 1, after: () => () => {} })
    const first = await queue.enter({ flow: 'b' })
    const path = ['acme', 'key']
    const second = queue.enter({ flow: path })
    const third = queue.enter({ flow: 'c' })
    change(path)
    if (first.admitted) first.finish()
    const late = await second
    expect(late).toMatchObject({ admitted: true, flow: 'acme' })
    if (late.admitted) late.finish('success', { cost: 3 })
    const last = await third
    if (last.admitted) last.finish()
    expect(queue.snapshot()).toMatchObject({ running: 0, waiting: 0, capacity: { inFlight: 0 } })
  })
})

describe('a flow that is a path, in a gate', () => {
  it('has turns by account, then by key, with weights of both levels', async () => {
    const asked: string[] = []
    const weightOf = (name: string, above: readonly string[]): number => {
      asked.push([...above, name].join('/'))
      return name === 'gold' ? 3 : 1
    }
    const gate = createGate({
      fair: false,
      weightOf,
      queue: requestQueue({ concurrency: 1, maxWaitMs: 60_000, sparseFirst: false }),
      after: () => () => {},
    })
    const started: string[] = []
    let running: Permit | undefined
    const ask = (flow: Flow): void =>
      void Promise.resolve(gate.admit({ flow })).then((decision) => {
        if (!decision.admitted) throw new Error(decision.reason)
        running = decision
        started.push((decision.path ?? [decision.flow]).join('/'))
      })
    for (let i = 0; i < 12; i++) for (const key of ['gold', 'tin']) ask(['acme', key])
    for (let i = 0; i < 12; i++) ask('other')
    await settled()
    for (let i = 0; i < 24; i++) {
      running?.finish('success')
      await settled()
    }
    const count = (name: string): number => started.filter((each) => each === name).length
    expect(Math.abs(count('acme/gold') - 9)).toBeLessThanOrEqual(1)
    expect(Math.abs(count('acme/tin') - 3)).toBeLessThanOrEqual(1)
    expect(Math.abs(count('other') - 12)).toBeLessThanOrEqual(1)
    expect(new Set(asked)).toEqual(new Set(['acme', 'acme/gold', 'acme/tin', 'other']))
  })

  it('is its first name to all other stages, and in what is told', () => {
    const heard: string[] = []
    const gate = createGate({
      fair: false,
      budget: escrow({ limit: 100, windowMs: 1_000 }),
      clock: manualClock(),
      stages: [{ name: 'mine', admit: ({ flow, path }) => void heard.push(`${flow} ${path}`) }],
    })
    gate.observe((event) => event.type === 'admitted' && heard.push(event.flow))
    gate.admit({ flow: ['acme', 'a'], cost: 30 })
    gate.admit({ flow: ['acme', 'b'], cost: 30 })
    gate.admit({ flow: ['acme'], cost: 1 })
    expect(heard).toEqual(['acme acme,a', 'acme', 'acme acme,b', 'acme', 'acme undefined', 'acme'])
    expect(gate.explain('acme')).toMatchObject({})
    expect(gate.snapshot().stages['budget']).toMatchObject({ used: 61 })
    expect(() => gate.admit({ flow: [] })).toThrow('flow must be a path of 1 to 4 names, got 0')
    expect(() => gate.admit({ flow: ['a', ''] })).toThrow('flow[1] must be a non-empty string, got ""')
    const long = gate.admit({ flow: ['x'.repeat(300), 'y'.repeat(300)] }) as Permit
    expect(long.path?.map(({ length }) => length)).toEqual([256, 256])
  })

  it('has an override by its first name', () => {
    const asked: number[] = []
    const overrides = new Overrides()
    overrides.boost('acme', 5, 60_000)
    const gate = createGate({
      fair: false,
      overrides,
      queue: requestQueue({ concurrency: 1 }),
      stages: [],
      after: () => () => {},
    })
    void gate.admit({ flow: 'other' })
    void gate.admit({ flow: ['acme', 'acme'] })
    void gate.admit({ flow: 'third' })
    const { share } = gate.explain('acme')['queue'] as { share: number }
    asked.push(share)
    expect(asked[0]).toBeCloseTo(5 / 6)
    gate.close()
  })
})

describe('the slots of an account', () => {
  it('are one share, however many keys it has', async () => {
    const queue = new RequestQueue({ concurrency: 4, maxWaitMs: 60_000, after: () => () => {} })
    const started: string[] = []
    const permits: { flow: string; finish: () => void }[] = []
    const ask = (flow: Flow): void =>
      void Promise.resolve(queue.enter({ flow })).then((answer) => {
        if (!answer.admitted) return
        started.push(answer.flow)
        permits.push(answer)
      })
    for (let key = 0; key < 20; key++) ask(['many', `${key}`])
    for (let i = 0; i < 8; i++) ask(['few', 'one'])
    await settled()
    for (let i = 0; i < 4; i++) {
      permits[i]!.finish()
      await settled()
    }
    expect(started.slice(4).sort()).toEqual(['few', 'few', 'many', 'many'])
    expect(queue.explain('many')).toMatchObject({ waiting: 14, running: 2 })
    queue.close()
  })
})

describe('fairLimit', () => {
  it('takes a path', async () => {
    const limit = fairLimit({ concurrency: 1 })
    const order: string[] = []
    const work = (name: string) => async () => void order.push(name)
    const all = [limit('x', work('x'))]
    for (let i = 0; i < 3; i++) for (const key of ['a', 'b']) all.push(limit(['acme', key], work(`acme/${key}`)))
    for (let i = 0; i < 3; i++) all.push(limit('one', work('one')))
    await Promise.all(all)
    expect(order.slice(0, 5).filter((name) => name === 'one').length).toBe(2)
    expect(() => limit(['acme', ''], work('x'))).toThrow('flow[1] must be a non-empty string, got ""')
  })
})
