import { getEventListeners } from 'node:events'
import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import type { Decision, Permit } from '../admission/decision.js'
import { createGate } from '../create-gate.js'
import { seededRandom } from '../testing/seeded-random.js'
import { World } from '../testing/world.js'
import { requestQueue } from './request-queue.js'

/** A hundred thousand in `pnpm test:deep`. */
const REQUESTS = process.env['FAIRLEAD_PROPERTY_RUNS'] === undefined ? byWidth(5_000, 20_000) : 100_000

describe(`many requests through a gate, ${REQUESTS}`, () => {
  it.each([1, 2])(
    'are answered once each and leave nothing behind, seed %d',
    async (seed) => {
      const random = seededRandom(seed)
      const world = new World()
      const { clock, after } = world
      const gate = createGate({
        fair: false,
        queue: requestQueue({ concurrency: 2, maxWaitMs: 50, maxWaiting: 40, perFlowLimit: 10 }),
        clock,
        after,
        random: seededRandom(seed + 0.5),
      })
      const controllers: AbortController[] = []
      const running: Permit[] = []
      const reasons = new Map<string, number>()
      let asked = 0
      let answered = 0
      const hear = (decision: Decision): void => {
        answered++
        if (decision.admitted) running.push(decision)
        else reasons.set(decision.reason, (reasons.get(decision.reason) ?? 0) + 1)
      }
      const ask = (): void => {
        const controller = new AbortController()
        const { signal } = controller
        controllers.push(controller)
        // Created for all, or only for those that wait.
        const answer = gate.admit({
          flow: `flow-${Math.floor(random() ** 3 * 100)}`,
          signal: random() < 0.5 ? signal : () => signal,
          exempt: random() < 0.01,
        })
        asked++
        if (answer instanceof Promise) void answer.then(hear)
        else hear(answer)
      }
      const finish = (): void => {
        const at = Math.floor(random() * running.length)
        const permit = running[at]
        if (permit === undefined) return
        running[at] = running.at(-1)!
        running.pop()
        permit.finish(random() < 0.9 ? 'success' : 'failure', random() < 0.2 ? { cost: 3 * random() } : undefined)
      }
      while (asked < REQUESTS) {
        const draw = random()
        if (draw < 0.45) ask()
        else if (draw < 0.75) finish()
        else if (draw < 0.85) controllers.at(-1 - Math.floor(random() * 20))?.abort()
        // Timers are late every other time.
        else if (draw < 0.93) world.advance(random() * 5)
        else world.stall(random() * 5)
        // Some events happen between an answer and its reaction.
        if (random() < 0.7) await settled()
      }
      while (gate.snapshot().waiting > 0 || running.length > 0) {
        while (running.length > 0) finish()
        world.advance(1)
        await settled()
      }
      expect(answered).toBe(asked)
      for (const reason of ['gone', 'expired']) expect(reasons.get(reason), reason).toBeGreaterThan(REQUESTS / 100)
      expect(gate.snapshot()).toMatchObject({
        inFlight: 0,
        waiting: 0,
        stageErrors: 0,
        stages: {
          queue: { running: 0, waiting: 0, passing: undefined, capacity: { inFlight: 0 }, capacityErrors: 0 },
        },
      })
      expect(gate.snapshot().stages['queue']).toMatchObject({
        bands: [{ waiting: 0, queue: { waiting: 0, cost: 0, records: 0 } }],
      })
      expect(world.timers).toBe(0)
      let listening = 0
      for (const { signal } of controllers) listening += getEventListeners(signal, 'abort').length
      expect(listening).toBe(0)
    },
    60_000,
  )
})

async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve()
}
