import { adaptiveLimit } from './adaptive.js'
import { costs } from './costs.js'
import { doorman } from './doorman.js'
import { escrow } from './escrow.js'
import { everybodyWaits } from './everybody-waits.js'
import { fair } from './fair.js'
import { fairScenarios } from './fair-scenarios.js'
import type { Figure } from './figure.js'
import { isolation } from './isolation.js'
import { manyHeavy } from './many-heavy.js'
import { noisyCustomers } from './noisy-customers.js'
import { waitingRoom } from './waiting-room.js'
import { weights } from './weights.js'

export const FIGURES: readonly Figure[] = [
  isolation,
  manyHeavy,
  everybodyWaits,
  costs,
  weights,
  noisyCustomers,
  waitingRoom,
  adaptiveLimit,
  doorman,
  escrow,
  fair,
  fairScenarios,
]

/** The figures of these names; all of them if there are none. Throws a `RangeError` that lists what there is. */
export function figuresOf(names: readonly string[]): readonly Figure[] {
  if (names.length === 0) return FIGURES
  return names.map((name) => {
    const figure = FIGURES.find((each) => each.name === name)
    if (figure !== undefined) return figure
    throw new RangeError(`there is no figure '${name}'; there are ${FIGURES.map((each) => each.name).join(', ')}`)
  })
}
