import { byWidth } from '@fairlead-testing/oracles'
import { expect, it } from 'vitest'
import type { Decision } from '../../admission/decision.js'
import { createGate } from '../../create-gate.js'
import { manualClock } from '../../testing/manual-clock.js'
import { seededRandom } from '../../testing/seeded-random.js'

const WORKERS = 30
const LINE = 60
const SECONDS = 20
const [QUIET, HEAVY] = [18, 2]
/** Requests per second of one flow. */
const [QUIET_ASKS, HEAVY_ASKS] = [10, 150]

/**
 * Service of quiet flows, as a part of their demand, from the tenth second to the last but one, by a pool that serves
 * 300 requests a second from a queue of 200 ms, in a process that stalls for `stallMs` on average, twice a second: all
 * events of the stall happen at once at its end.
 */
function quietShare(stallMs: number, seed: number): number {
  const random = seededRandom(seed)
  const clock = manualClock()
  const gate = createGate({ clock, random: seededRandom(seed + 1_000) })
  const happenings: { at: number; happen: () => void }[] = []
  const at = (ms: number, happen: () => void): void => {
    const next = happenings.findIndex((other) => other.at > ms)
    happenings.splice(next < 0 ? happenings.length : next, 0, { at: ms, happen })
  }
  const line: ((served: boolean) => void)[] = []
  const share = { asked: 0, served: 0 }
  let [nowMs, busy, stalledTo, nextStall] = [0, 0, 0, 500]

  const work = (end: (served: boolean) => void): void => {
    busy++
    at(nowMs + 80 + 40 * random(), () => {
      busy--
      const next = line.shift()
      if (next !== undefined) work(next)
      end(true)
    })
  }
  const ask = (flow: string, counts: boolean): void => {
    if (counts) share.asked++
    const decision = gate.admit({ flow }) as Decision
    if (!decision.admitted) return
    const end = (served: boolean): void => {
      if (counts && served) share.served++
      decision.finish(served ? 'success' : 'failure')
    }
    if (busy < WORKERS) work(end)
    else if (line.length < LINE) line.push(end)
    else at(nowMs + 1, () => end(false))
  }
  const comes = (flow: string, perSecond: number): void => {
    at(nowMs - (Math.log(1 - random()) / perSecond) * 1_000, () => {
      ask(flow, perSecond === QUIET_ASKS && nowMs >= 10_000 && nowMs < (SECONDS - 1) * 1_000)
      comes(flow, perSecond)
    })
  }
  for (let i = 0; i < QUIET; i++) comes(`quiet-${i}`, QUIET_ASKS)
  for (let i = 0; i < HEAVY; i++) comes(`heavy-${i}`, HEAVY_ASKS)
  while (happenings[0]!.at < SECONDS * 1_000) {
    const { at: due, happen } = happenings.shift()!
    if (due > nextStall) {
      stalledTo = nextStall + 2 * stallMs * random()
      nextStall += 1_000 * random()
    }
    const ms = Math.max(nowMs, due, stalledTo)
    clock.advance(ms - nowMs)
    nowMs = ms
    happen()
  }
  return share.served / share.asked
}

const STALLS: [stallMs: number, least: number][] = [
  [100, 0.91],
  [0, 0.99],
  [50, 0.98],
]

it.each(byWidth(STALLS.slice(0, 1), STALLS))(
  'with stalls of %d ms on average, quiet flows get %d of what they ask',
  (stallMs, least) => {
    const shares = Array.from({ length: 40 }, (_, seed) => quietShare(stallMs, seed))
    expect(shares.reduce((sum, share) => sum + share, 0) / shares.length).toBeGreaterThan(least)
  },
)
