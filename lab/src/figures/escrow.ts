import { COARSE_SEEDS, coarse } from './escrow/coarse.js'
import { fleet } from './escrow/fleet.js'
import { FLEET_SEEDS } from './escrow/fleet-run.js'
import { lateRegion } from './escrow/regions.js'
import { SEEDS } from './escrow/seeds.js'
import { shares } from './escrow/shares.js'
import { utilisation } from './escrow/utilisation.js'
import type { Figure, Findings } from './figure.js'

const SOURCE = 'a model of the rule that ours came from (ThrottleKit, Pillar 4), in its reading by excess'

/** Weighted fair escrow beside the published rule: utilisation, and its distribution over tenants. */
export const escrow: Figure = {
  name: 'escrow',
  file: 'escrow',
  about: 'how much of a shared budget is used where tenants leave some of theirs, and by whom',
  source: SOURCE,
  seeds: SEEDS,
  make: (effort, tell) =>
    together({
      utilisation: utilisation(effort, tell),
      shares: shares(effort, tell),
      lateRegion: lateRegion(effort, tell),
    }),
}

export const escrowCoarse: Figure = {
  name: 'escrow-coarse',
  file: 'escrow-coarse',
  about: 'how much of a shared budget is used by calls that are large beside it',
  source: SOURCE,
  seeds: COARSE_SEEDS,
  make: coarse,
}

export const escrowFleet: Figure = {
  name: 'escrow-fleet',
  file: 'escrow-fleet',
  about: 'how the processes of a fleet share a budget',
  source: 'a pool that is one plain counter',
  seeds: FLEET_SEEDS,
  make: fleet,
}

function together(parts: Readonly<Record<string, Findings>>): Findings {
  const all = Object.values(parts)
  return {
    aims: all.flatMap(({ aims = [] }) => aims),
    tables: all.flatMap(({ tables }) => tables),
    pictures: Object.assign({}, ...all.map(({ pictures }) => pictures)),
    data: Object.fromEntries(Object.entries(parts).map(([part, { data }]) => [part, data])),
  }
}
