import { coarse } from './escrow/coarse.js'
import { fleet } from './escrow/fleet.js'
import { lateRegion } from './escrow/regions.js'
import { shares } from './escrow/shares.js'
import { utilisation } from './escrow/utilisation.js'
import type { Figure } from './figure.js'

/** Weighted fair escrow beside the rule that it came from: how much is used, by whom, in one process and in a fleet. */
export const escrow: Figure = {
  name: 'escrow',
  file: 'escrow',
  about: 'how much of a shared budget is used, and by whom',
  async make(effort, tell) {
    const parts = {
      utilisation: utilisation(effort, tell),
      shares: shares(effort, tell),
      coarse: coarse(effort, tell),
      lateRegion: lateRegion(effort, tell),
      fleet: await fleet(effort, tell),
    }
    const all = Object.values(parts)
    return {
      tables: all.flatMap(({ tables }) => tables),
      pictures: Object.assign({}, ...all.map(({ pictures }) => pictures)),
      data: Object.fromEntries(Object.entries(parts).map(([part, { data }]) => [part, data])),
    }
  },
}
