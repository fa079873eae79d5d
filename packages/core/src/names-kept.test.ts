import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { Overrides } from './admission/overrides.js'
import { WeightedFairEscrow } from './escrow/escrow.js'
import { AddressFlows } from './http/address-flow.js'
import { warnOnce } from './http/mistakes.js'
import { MemoryQuotaStore } from './quota/store.js'
import { LearnedCosts } from './sfq/costs.js'
import { manualClock } from './testing/manual-clock.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function usedBytes(): number {
  collect()
  return getHeapStatistics().used_heap_size
}

/** The part of a long header that names a client. */
function cutName(i: number): string {
  const header = Buffer.alloc(200_000, `${i % 10}`).toString('latin1')
  return /; key=(.+)/.exec(`${header}; key=client-number-${1_000 + i}`)![1]!
}

/** Each place that keeps names, with the object that owns it. */
const KEEPERS: readonly [string, () => { keep(name: string): unknown; whole: object }][] = [
  [
    'a quota',
    () => {
      const whole = new MemoryQuotaStore()
      return { keep: (name) => whole.take(name, 1, 10, 0), whole }
    },
  ],
  [
    'a budget',
    () => {
      const whole = new WeightedFairEscrow({ limit: 1e9, windowMs: 60_000, clock: manualClock() })
      return { keep: (name) => whole.check(name, 1), whole }
    },
  ],
  [
    'a budget that refuses',
    () => {
      const whole = new WeightedFairEscrow({ limit: 1, windowMs: 60_000, clock: manualClock() })
      return { keep: (name) => whole.check(name, 1), whole }
    },
  ],
  [
    'what a queue has learned of costs',
    () => {
      const whole = new LearnedCosts()
      return { keep: (name) => whole.learn(name, name, 1, 2), whole }
    },
  ],
  [
    'overrides',
    () => {
      const whole = new Overrides()
      return { keep: (name) => whole.block(name, 1_000), whole }
    },
  ],
  [
    'addresses seen lately',
    () => {
      const whole = new AddressFlows(
        56,
        warnOnce(() => {}),
      )
      const addressOf = (name: string): string => `203.0.113.${Number(name.slice(-3))}`
      // The form a proxy's header has: the address is a part of a long string.
      const cut = (address: string): string => /; (.+)/.exec(`${'x'.repeat(200_000)}; ${address}:65000`)![1]!
      return { keep: (name) => whole.flow(cut(addressOf(name))), whole }
    },
  ],
]

describe('a name that is kept does not keep the header that it was cut from', () => {
  it.each(KEEPERS)('in %s', (_what, make) => {
    const { keep, whole } = make()
    keep(cutName(99))
    const before = usedBytes()
    for (let i = 0; i < 40; i++) keep(cutName(i))
    const kept = usedBytes() - before
    expect(whole).toBeDefined()
    // Forty headers are eight megabytes.
    expect(kept).toBeLessThan(2_000_000)
  })
})
