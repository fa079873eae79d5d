import type { Algorithm, ServerCapacityResourceResponse } from '@fairlead/core/doorman'
import { settled, World } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { fairShare } from '../fixtures/repository.js'
import { DoormanServer, type DoormanServerOptions } from './doorman-server.js'

const EPOCH_MS = 1_700_000_000_000

/** A node below a parent with configurable answers, and two clients that want 30 each. */
function below() {
  const world = new World()
  const { clock, after } = world
  const wallClock = (): number => EPOCH_MS + clock()
  const right = (): ServerCapacityResourceResponse => {
    const gets = { capacity: 100, expiryTime: Math.floor(wallClock() / 1_000) + 60, refreshInterval: 4 }
    return { resourceId: 'db', gets }
  }
  const parent = { response: right, questions: 0 }
  const getServerCapacity = () => {
    parent.questions++
    return Promise.resolve({ response: [parent.response()] })
  }
  const node = new DoormanServer({
    ...{ id: 'node', repository: fairShare(9), clock, wallClock, after, minimumIntervalMs: 0 },
    parent: { connect: () => ({ getServerCapacity }) } as unknown as NonNullable<DoormanServerOptions['parent']>,
  })
  const ask = (clientId: string) =>
    node.getCapacity({ clientId, resource: [{ resourceId: 'db', priority: 0, wants: 30 }] }).response[0]!
  /** Both ask every second; returns their answers, and the capacity of the last one. */
  async function pass(seconds: number): Promise<{ figures: (number | undefined)[]; capacity: number }> {
    const figures: (number | undefined)[] = []
    for (let second = 0; second < seconds; second++) {
      for (const { gets, safeCapacity } of [ask('a'), ask('b')])
        figures.push(gets.capacity, gets.expiryTime, gets.refreshInterval, safeCapacity)
      for (let i = 0; i < 20; i++) {
        world.advance(50)
        await settled()
      }
    }
    return { figures, capacity: ask('b').gets.capacity }
  }
  return { parent, right, node, pass }
}

const leaseOf = (lease: object) => (right: ServerCapacityResourceResponse) => ({
  ...right,
  gets: { ...right.gets, ...lease },
})
const ruleOf =
  (rule: object) =>
  (right: ServerCapacityResourceResponse): ServerCapacityResourceResponse => {
    const algorithm = { kind: 'FAIR_SHARE', leaseLength: 60, refreshInterval: 8, parameters: [], ...rule } as Algorithm
    return { ...right, algorithm }
  }
const parameter = (name: string, value: string) => ruleOf({ parameters: [{ name, value }] })

describe('a parent that answers', () => {
  it.each<[string, (right: ServerCapacityResourceResponse) => ServerCapacityResourceResponse]>([
    ['no number as capacity', leaseOf({ capacity: Number.NaN })],
    ['an endless capacity', leaseOf({ capacity: Number.POSITIVE_INFINITY })],
    ['no number as expiry', leaseOf({ expiryTime: Number.NaN })],
    ['no number as interval', leaseOf({ refreshInterval: Number.NaN })],
    ['no number as target', (right) => ({ ...right, target: Number.NaN })],
    ['a target below 0', (right) => ({ ...right, target: -7 })],
    ['no number as inheritance', (right) => ({ ...right, inherited: Number.NaN })],
    ['no number as safe capacity', (right) => ({ ...right, safeCapacity: Number.NaN })],
    ['an unknown kind', ruleOf({ kind: 'WHAT' })],
    ['leases of no length', ruleOf({ leaseLength: 0, refreshInterval: 0 })],
    ['leases shorter than the interval', ruleOf({ leaseLength: 7 })],
    ['a parameter that is none', parameter('headroom', 'much')],
    ['a share of no band', parameter('minimum_share:high', '0.5')],
  ])('%s is not believed, is asked again at a measured pace, and spoils nothing', async (_, wrong) => {
    const { parent, right, node, pass } = below()
    await pass(10)
    parent.response = () => wrong(right())
    parent.questions = 0
    const { figures, capacity } = await pass(20)
    // It continues with its present lease.
    expect(capacity).toBe(33)
    for (const figure of figures) expect(figure).toSatisfy(Number.isFinite)
    expect(parent.questions).toBeGreaterThan(10)
    expect(parent.questions).toBeLessThanOrEqual(25)
    expect(node.parentError).toContain('a bad answer about db: ')
    await pass(60)
    // That lease has ended.
    expect((await pass(1)).capacity).toBe(0)
    parent.response = right
    expect((await pass(10)).capacity).toBe(33)
    expect(node.parentError).toBeUndefined()
    node.close()
  })

  it('a capacity below 0 means that there is none', async () => {
    const { parent, right, node, pass } = below()
    await pass(10)
    parent.response = () => ({ ...leaseOf({ capacity: -5 })(right()), safeCapacity: -1 })
    expect((await pass(10)).capacity).toBe(0)
    expect(node.parentError).toBeUndefined()
    parent.response = right
    expect((await pass(20)).capacity).toBe(33)
    node.close()
  })

  it('an interval longer than the lease is asked again before that ends', async () => {
    const { parent, right, node, pass } = below()
    parent.response = () => leaseOf({ refreshInterval: 1e9 })(right())
    await pass(10)
    for (let minute = 0; minute < 3; minute++) expect((await pass(60)).capacity).toBe(33)
    node.close()
  })

  it('parameters of a newer version are passed over', async () => {
    const { parent, right, node, pass } = below()
    parent.response = () => parameter('of_tomorrow', 'much')(right())
    expect((await pass(10)).capacity).toBe(33)
    expect(node.parentError).toBeUndefined()
    node.close()
  })
})
