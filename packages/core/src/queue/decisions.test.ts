import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Decision, Permit } from '../admission/decision.js'
import type { Passage } from '../admission/stage.js'
import { createGate } from '../create-gate.js'
import { seededRandom } from '../testing/seeded-random.js'
import { World } from '../testing/world.js'
import type { QueueOptions } from './options.js'
import { requestQueue } from './request-queue.js'

const STEPS = 4_000

/** Answers of a gate with this queue to the same requests, a line for each answer. */
async function decisionsOf(options: QueueOptions, paths: boolean): Promise<string[]> {
  const random = seededRandom(1)
  const world = new World()
  const { clock, after } = world
  const gate = createGate({ fair: false, queue: requestQueue(options), clock, after, random: seededRandom(2) })
  const lines: string[] = []
  const running: Permit[] = []
  const hear = (id: number, decision: Decision): void => {
    if (decision.admitted) running.push(decision)
    const said = decision.admitted ? 'starts' : `${decision.reason} ${Math.round(decision.retryAfterMs)}`
    lines.push(`${Math.round(clock())} ${id} ${said}`)
  }
  for (let step = 0; step < STEPS; step++) {
    const draw = random()
    if (draw < 0.5) {
      const tenant = `tenant-${Math.floor(random() ** 2 * 12)}`
      const cost = random() < 0.9 ? 0.5 + random() : 30
      const flow = paths ? [tenant, `key-${Math.floor(3 * random())}`] : tenant
      const controller = new AbortController()
      if (random() < 0.05) setImmediate(() => controller.abort())
      const answer = gate.admit({ flow, cost, priority: Math.floor(5 * random()) - 2, signal: controller.signal })
      if (answer instanceof Promise) void answer.then((decision) => hear(step, decision))
      else hear(step, answer)
    } else if (draw < 0.9 && running.length > 0) {
      const [permit] = running.splice(Math.floor(random() * running.length), 1)
      if (random() < 0.2) permit!.charge(3 * random())
      permit!.finish(random() < 0.9 ? 'success' : 'failure', random() < 0.2 ? { cost: 5 * random() } : undefined)
    } else await world.advance(20 * random())
    await new Promise(setImmediate)
  }
  gate.close()
  await new Promise(setImmediate)
  return lines
}

const bounds: QueueOptions = { concurrency: 8, maxWaitMs: 300, maxWaiting: 60, perFlowLimit: 12 }
const pool = { size: 40, unitsOf: ({ cost }: Passage): number => Math.min(40, cost) }

/**
 * The frozen decisions of a queue: a change that is meant to change no decision passes, and a change that is meant to
 * updates these lines. On a failure, print `lines` of both trees and compare them.
 */
describe('the decisions of a queue', () => {
  it.each<[string, string, QueueOptions, boolean]>([
    ['by default', '829f1980e71e', { ...bounds }, false],
    ['with paths', 'e70a24805d9a', { ...bounds }, true],
    ['by weight', '3a01ab0a38f8', { ...bounds, weightOf: (flow) => (flow < 'tenant-3' ? 3 : 1) }, false],
    [
      'with bands',
      '2cb2e85e15eb',
      { ...bounds, bands: [{ share: 0.4, lendable: 0.5 }, { minShare: 0.2 }, { most: 0.5 }] },
      false,
    ],
    [
      'with a pool and wide requests',
      'a84a41b18b41',
      { ...bounds, pool, width: ({ cost }) => (cost > 20 ? 5 : 1) },
      false,
    ],
    ['with few slots of a flow', '5f5c8f335230', { ...bounds, perFlowConcurrency: 2 }, false],
    ['newest first', '7d4b8e5d0f7a', { ...bounds, newestFirst: true }, false],
    [
      'with deadlines by class',
      '365ddd877627',
      { ...bounds, deadlineMsOf: () => 150, classOf: ({ flow }) => flow },
      false,
    ],
    ['with hashed queues', '2a280738f853', { ...bounds, queues: 4, perturbEveryMs: 5_000 }, false],
    ['with more and more hashed queues', '608063d58892', { ...bounds, queues: 'auto', maxWaiting: 1_000 }, false],
  ])('%s', async (_, digest, options, paths) => {
    const lines = await decisionsOf(options, paths)
    expect(lines.length).toBeGreaterThan(1_500)
    expect(createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 12)).toBe(digest)
  })
})
