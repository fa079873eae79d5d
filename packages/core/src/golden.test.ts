import { expect, it } from 'vitest'
import type { Decision } from './admission/decision.js'
import { fixed } from './capacity/index.js'
import { createGate, type GateOptions } from './create-gate.js'
import { Office } from './doorman/fixtures/office.js'
import { lease } from './doorman/index.js'
import { escrow } from './escrow/index.js'
import { requestQueue } from './queue/index.js'
import { quota } from './quota/index.js'
import { loadShedder } from './shed/load-shedder.js'
import { seededRandom } from './testing/seeded-random.js'
import { settled, World } from './testing/world.js'

/** Requests per second of each flow at a given second, their cost, and their priority. */
const FLOWS = {
  heavy: { rate: (second: number) => (second < 5 ? 4 : 25), cost: 1, priority: 0 },
  paid: { rate: () => 8, cost: 1, priority: 1 },
  costly: { rate: (second: number) => (second < 10 ? 0 : 2), cost: 5, priority: 0 },
  quiet: { rate: () => 2, cost: 1, priority: 0 },
  background: { rate: () => 3, cost: 1, priority: -2 },
}
const SECONDS = 20
const STEP_MS = 5
const names = Object.keys(FLOWS) as (keyof typeof FLOWS)[]
const weightOf = (flow: string): number => (flow === 'paid' ? 3 : 1)

/** A request's end as one letter: `+` ran at once, `w` ran after waiting, else the first letter of the reason. */
const letterOf = (decision: Decision): string => {
  if (!decision.admitted) return decision.reason[0]!
  return decision.waitedMs > 0 ? 'w' : '+'
}

/** The decisions of a gate, one line per second of arrivals. A request runs for 100 ms per unit of its cost. */
async function decisions(world: World, options: (clock: () => number) => GateOptions): Promise<string> {
  const random = seededRandom(11)
  const { clock, after } = world
  const gate = createGate({ fair: false, weightOf, clock, after, random: seededRandom(12), ...options(clock) })
  const lines = Array.from({ length: SECONDS }, () => Object.fromEntries(names.map((name) => [name, [] as string[]])))
  for (let atMs = 0; atMs < SECONDS * 1_000; atMs += STEP_MS) {
    const second = Math.floor(atMs / 1_000)
    for (const flow of names) {
      const { rate, cost, priority } = FLOWS[flow]
      if (random() >= (rate(second) * STEP_MS) / 1_000) continue
      const letters = lines[second]![flow]!
      const place = letters.push('?') - 1
      void Promise.resolve(gate.admit({ flow, cost, priority })).then((decision) => {
        letters[place] = letterOf(decision)
        if (decision.admitted) after(100 * cost, () => decision.finish('success'))
      })
    }
    await settled()
    world.advance(STEP_MS)
    await settled()
  }
  gate.close()
  await settled()
  const rows = lines.map((line, second) => [second, ...names.map((name) => line[name]!.join(''))].join('\t'))
  return `${[['second', ...names].join('\t'), ...rows].join('\n')}\n`
}

/** Load that rises, stays and falls. */
const loadAt = (nowMs: number): number => Math.min(1, Math.max(0, 1.2 - Math.abs(nowMs / 1_000 - 10) / 8))

const GATES: Record<string, (clock: () => number) => GateOptions> = {
  shed: (clock) => ({ shed: loadShedder({ signal: () => loadAt(clock()), from: 0.6, to: 0.95 }) }),
  quota: () => ({ quota: quota({ limit: 10, windowMs: 1_000, burst: 15 }) }),
  budget: () => ({ budget: escrow({ limit: 100, windowMs: 5_000 }) }),
  queue: () => ({ queue: requestQueue({ concurrency: fixed(2), maxWaitMs: 1_500, bands: [{}, { minShare: 0.1 }] }) }),
}

/** A change of a mechanism shows up here as the first decisions that differ. The other tests state what is promised. */
it.each(Object.entries(GATES))('the %s stage decides as it is written down', async (name, options) => {
  await expect(await decisions(new World(), options)).toMatchFileSnapshot(`fixtures/decisions/${name}.tsv`)
})

it('a leased rate decides as it is written down', async () => {
  const office = new Office((request) => office.grant(request, 15, { lengthS: 3_600, refreshS: 3_600 }))
  const resource = office.client.rate('x', { wants: 20 })
  await office.advance(0)
  const text = await decisions(office.world, () => ({ doorman: lease({ resource, maxWaitMs: 500 }) }))
  await expect(text).toMatchFileSnapshot('fixtures/decisions/doorman.tsv')
})
