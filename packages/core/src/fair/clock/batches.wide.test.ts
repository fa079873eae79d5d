import { expect, it } from 'vitest'
import type { Permit } from '../../admission/decision.js'
import { createGate } from '../../create-gate.js'
import { seededRandom } from '../../testing/seeded-random.js'

const CAPACITY = 100
const LOAD = 0.8

/** Requests served from the twentieth second on, of clients that send all that they ask for in batches. */
function served(batch: number, everySeconds: number, store: number, seed: number, fair: false | undefined): number {
  const random = seededRandom(seed)
  const clients = Math.round((LOAD * CAPACITY * everySeconds) / batch)
  let [at, left, count] = [0, store, 0]
  const gate = createGate({ clock: () => at * 1_000, random: seededRandom(seed + 9), ...(fair === false && { fair }) })
  while (at < 120) {
    const pause = (-Math.log(1 - random()) * everySeconds) / clients
    at += pause
    left = Math.min(store, left + CAPACITY * pause)
    const flow = `client-${Math.floor(random() * clients)}`
    for (let i = 0; i < batch; i++) {
      const decision = gate.admit({ flow }) as Permit
      if (!decision.admitted) continue
      const isServed = left >= 1
      if (isServed) left--
      if (isServed && at > 20) count++
      decision.finish(isServed ? 'success' : 'failure')
    }
  }
  return count
}

it.each([
  [20, 4, 30, 0.85],
  [50, 20, 50, 0.6],
])(
  'batches of %d, every %d seconds, before a store of %d: %d of what is served without',
  (batch, every, store, least) => {
    const sum = (fair: false | undefined): number =>
      [1, 2, 3, 4].reduce((total, seed) => total + served(batch, every, store, seed, fair), 0)
    expect(sum(undefined) / sum(false)).toBeGreaterThan(least)
  },
)
