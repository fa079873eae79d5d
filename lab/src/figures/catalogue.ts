import { adaptiveLimit } from './adaptive.js'
import { costs } from './costs.js'
import { doorman } from './doorman.js'
import { drawings } from './drawings.js'
import { escrowReturns } from './escrow/returns.js'
import { escrow, escrowCoarse, escrowFleet } from './escrow.js'
import { everybodyWaits } from './everybody-waits.js'
import { fair } from './fair.js'
import { fairScenarios } from './fair-scenarios.js'
import type { Figure } from './figure.js'
import { isolation } from './isolation.js'
import { manyHeavy } from './many-heavy.js'
import { noisyCustomers } from './noisy-customers.js'
import { published } from './published.js'
import { shedCurve } from './shed-curve.js'
import { shedMemory } from './shed-memory.js'
import { story } from './story.js'
import { waitingRoom } from './waiting-room.js'
import { weights } from './weights.js'

export const FIGURES: readonly Figure[] = [
  fair,
  fairScenarios,
  story,
  isolation,
  manyHeavy,
  everybodyWaits,
  costs,
  weights,
  noisyCustomers,
  waitingRoom,
  published,
  shedCurve,
  shedMemory,
  adaptiveLimit,
  doorman,
  escrow,
  escrowCoarse,
  escrowFleet,
  escrowReturns,
  drawings,
]

/**
 * The figures with these names, or of these families (`sfq` selects all whose files begin with it); all of them if
 * there are none. Throws a `RangeError` that lists the figures.
 */
export function figuresOf(names: readonly string[]): readonly Figure[] {
  if (names.length === 0) return FIGURES
  return names.flatMap((name) => {
    const figure = FIGURES.find((each) => each.name === name || each.file === name)
    const family = figure === undefined ? FIGURES.filter(({ file }) => file.startsWith(`${name}-`)) : [figure]
    if (family.length === 0) throw new RangeError(`there is no figure '${name}'\n\n${list()}`)
    return family
  })
}

/** All figures, with a sentence each. */
export function list(): string {
  const width = Math.max(...FIGURES.map(({ name }) => name.length))
  return FIGURES.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`).join('\n')
}
