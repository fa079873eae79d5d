import type { After, Clock } from '../clock.js'
import { fail } from '../options.js'
import type { Random } from '../random.js'
import type { Stage } from './stage.js'

/** The parts of a gate that its mechanisms use. */
export interface GateSeams {
  readonly clock: Clock
  readonly after: After
  /** The gate's option; a mechanism without one takes the platform's. */
  readonly random: Random | undefined
  /** The gate's weights, which never throw; for mechanisms without weights of their own. */
  readonly weightOf: ((flow: string, above?: readonly string[]) => number) | undefined
  /** A name given by a function in a mechanism's options, as short as the gate's flows are. */
  shortened(name: string): string
  /** Tells the gate's observers that a function in a mechanism's options threw, or returned an invalid value. */
  failed(option: string, error: unknown): void
}

/**
 * A mechanism as a value: checked options, with the code that uses them. Each gate makes a stage of its own from it. A
 * bundle contains only the mechanisms that are made.
 */
export interface Mechanism<Place extends keyof typeof MAKERS = keyof typeof MAKERS> {
  /** The option of `createGate` that takes it. */
  readonly place: Place
  /** Makes the stage. Throws a `RangeError` or `TypeError` that names the option and its value. */
  stage(seams: GateSeams): Stage
}

/** The function that makes a mechanism, for each option; used in messages. */
const MAKERS = {
  shed: 'loadShedder',
  quota: 'quota',
  budget: 'escrow',
  doorman: 'lease',
  queue: 'requestQueue',
} as const

/** The stage of the mechanism given as the option `place`. Throws a `TypeError` on anything else. */
export function stageOf(place: Mechanism['place'], mechanism: Mechanism, seams: GateSeams): Stage {
  if (mechanism?.place !== place) fail(place, `made by ${MAKERS[place]}()`, mechanism)
  return mechanism.stage(seams)
}
