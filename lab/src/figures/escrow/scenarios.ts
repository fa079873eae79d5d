import type { Asker, Story } from './window.js'

/** A window in which budget may be left although a tenant wants it. */
export interface Scenario {
  readonly title: string
  readonly story: Story
  /**
   * Part of the limit that ours, paced, should use at least; or that no budget is left while a tenant still asks for
   * it.
   */
  readonly goal: number | 'all that fits'
}

const LIMIT = 1_000
/** Asks evenly, for a quarter more than the limit. */
const REAL: Asker = { name: 'real', costs: [1], every: 0.8 / LIMIT, from: 0.001 }
/** More than the limit, all at the beginning. */
const AT_ONCE = { every: 0.0001, requests: 80 }

function many(count: number, of: (i: number) => Omit<Asker, 'name'>): Asker[] {
  return Array.from({ length: count }, (_, i) => ({ name: `tenant-${i}`, ...of(i) }))
}

/** 99 that ask for the whole budget ten times each, and get nothing; `real` has been admitted before. */
const probing: Story = {
  limit: LIMIT,
  askers: [{ ...REAL, from: 0 }, ...many(99, () => ({ costs: [LIMIT], every: 0.1, from: 0.001, returns: false }))],
}

/** 99 that are admitted once, with one unit, and then fall silent. */
const oneUnit: Story = {
  limit: LIMIT,
  askers: [...many(99, () => ({ costs: [1], every: 1, from: 0, enough: 1 })), REAL],
}

/** `count` tenants, all asking for three times their share; every second one stops after a fifth of it. */
function pausing(count: number): Story {
  const share = LIMIT / count
  return {
    limit: LIMIT,
    askers: many(count, (i) => ({ costs: [1], every: 1 / (3 * share), ...(i % 2 === 1 && { enough: 0.2 * share }) })),
  }
}

/** 99 that are admitted once, and go on asking for more than fits, whether it is refused or not. */
function clamouring(cost: number): Story {
  const loud = many(99, () => ({ costs: [1, cost], every: 1 / 30, from: 0, returns: false }))
  return { limit: LIMIT, askers: [...loud, REAL] }
}

const TIERS = [
  ['enterprise', 4],
  ['pro', 2],
  ['free', 1],
] as const

/** The published example: the first call is one of 8 000 units, all others are of 5 000. */
const flagship: Story = {
  limit: 30_000,
  askers: TIERS.map(([name, weight], i) => ({
    name,
    weight,
    ...AT_ONCE,
    ...(i === 0 ? { costs: [8_000, 5_000], from: 0 } : { costs: [5_000] }),
  })),
}

/** Each of four begins with a call of 400. Those of weight 1 then ask for more than they are guaranteed. */
const flagshipWarm: Story = {
  limit: 30_000,
  askers: [...TIERS, ['free too', 1] as const].map(([name, weight]) => ({
    name,
    weight,
    costs: [400, 5_000],
    ...AT_ONCE,
    from: 0,
  })),
}

export const ONE_UNIT: Scenario = { title: '99 tenants with one admitted unit, one real', story: oneUnit, goal: 0.99 }

export const PAUSING: Scenario = { title: 'half of 10 pause after 20 % of their share', story: pausing(10), goal: 0.99 }

export const SCENARIOS: readonly Scenario[] = [
  { title: '99 refused probes, one real tenant', story: probing, goal: 0.99 },
  ONE_UNIT,
  PAUSING,
  { title: 'half of 40 pause', story: pausing(40), goal: 0.99 },
  { title: 'half of 100 pause', story: pausing(100), goal: 0.99 },
  { title: 'flagship: a call of 8000, then of 5000', story: flagship, goal: 'all that fits' },
  { title: 'the same, four calls of 400 first', story: flagshipWarm, goal: 'all that fits' },
  { title: '99 active ask for 900 of 1000 every T/30, one real', story: clamouring(900), goal: 'all that fits' },
  { title: '99 active ask for 100 of 1000 every T/30, one real', story: clamouring(100), goal: 'all that fits' },
]
