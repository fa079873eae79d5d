import { expect, it } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import { seededRandom } from '../testing/seeded-random.js'
import type { EscrowDecision } from './decision.js'
import { WeightedFairEscrow } from './escrow.js'
import { LeasedFairEscrow } from './fleet/escrows.js'
import { MemoryPoolStore } from './fleet/stores.js'
import { hierarchy } from './hierarchy.js'
import type { EscrowOptions } from './options.js'

const TENANTS = ['acme/web', 'acme/batch', 'globex/17', 'globex/18', 'solo', 'late']
const SYMBOLS = { 'over-share': '-', exhausted: '!', never: '#', unknown: '?', 'store-error': '*' } as const
const TREE = hierarchy({
  name: 'all',
  children: [
    { name: 'acme', weight: 3, children: [{ name: 'acme/web', weight: 2 }, { name: 'acme/batch' }] },
    { name: 'globex', weight: 1, children: [] },
    { name: 'solo' },
  ],
})
const FORMS: Record<string, Partial<EscrowOptions> & { processes?: number }> = {
  paced: {},
  strict: { reserve: 'strict', maxTenants: 4 },
  sliding: { window: 'sliding' },
  tree: {
    tree: TREE,
    groupOf: (tenant) => (tenant.startsWith('globex') ? 'globex' : undefined),
    weightOf: (tenant) => (tenant === 'acme/web' ? 2 : 1),
  },
  fleet: { processes: 3 },
}
const WINDOW_MS = 1_000
const STEPS = 20
const WINDOWS = 4

interface Asks {
  check(tenant: string, cost: number): unknown
  settle(decision: never, cost: number): unknown
}

/**
 * The decision about each requested cost, a line for each twentieth of a window: `+` within the guarantee, `~`
 * borrowed, `-` over the share, `!` exhausted, `#` never, `?` unknown; and the remainder of the last tenant, with its
 * retry delay. Some calls are settled, with more or less than their request.
 */
function decisions({ processes = 1, ...form }: (typeof FORMS)[string], isFleet: boolean): string {
  const clock = manualClock()
  const random = seededRandom(11)
  const store = new MemoryPoolStore({ clock })
  const weightOf = (tenant: string): number => (tenant === 'solo' ? 3 : 1)
  const escrows: Asks[] = Array.from({ length: processes }, () =>
    isFleet
      ? new LeasedFairEscrow({
          ...{ pool: 'golden', limit: 200, windowMs: WINDOW_MS, quantum: 5, store, weightOf, clock, random },
          after: () => () => {},
          estimates: 'asked',
        })
      : new WeightedFairEscrow({ limit: 200, windowMs: WINDOW_MS, weightOf, clock, ...form }),
  )
  const lines: string[] = []
  const open: (readonly [Asks, EscrowDecision])[] = []
  for (let step = 0; step < STEPS * WINDOWS; step++) {
    const line = TENANTS.map(() => '')
    let last: EscrowDecision | undefined
    for (let at = 0; at < 12; at++) {
      clock.advance(WINDOW_MS / STEPS / 12)
      const who = Math.floor(random() * TENANTS.length)
      const tenant = TENANTS[who]!
      const isThere = tenant !== 'late' || step % STEPS > STEPS / 2
      if (!isThere || (tenant === 'acme/batch' && step % STEPS > 4)) continue
      const cost = random() < 0.01 ? 500 : 1 + Math.floor(random() * 6)
      const escrow = escrows[Math.floor(random() * processes)]!
      const decision = escrow.check(tenant, cost) as EscrowDecision
      last = decision
      line[who] += decision.allowed ? (decision.borrowed ? '~' : '+') : SYMBOLS[decision.reason!]
      if (decision.allowed) open.push([escrow, decision])
      if (open.length > 8 && random() < 0.5) {
        const [owner, settled] = open.splice(Math.floor(random() * open.length), 1)[0]!
        owner.settle(settled as never, Math.floor(settled.cost * (0.5 + random())))
      }
    }
    const told = last === undefined ? [] : [last.remaining.toPrecision(6), last.retryAfterMs.toPrecision(6)]
    lines.push([step, ...line, ...told].join('\t'))
  }
  return `${[['step', ...TENANTS, 'remaining', 'retryAfterMs'].join('\t'), ...lines].join('\n')}\n`
}

// A change of form changes none of these. If the rule is changed on purpose, the lines that differ name the tenants
// affected.
it.each(Object.entries(FORMS))('decides as it always has, %s', async (name, form) => {
  await expect(decisions(form, name === 'fleet')).toMatchFileSnapshot(`./fixtures/golden-${name}.txt`)
})
