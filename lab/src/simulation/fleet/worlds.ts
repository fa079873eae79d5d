import { simulate } from '../../worlds/engine.js'
import { FAMILY_LISTS } from '../../worlds/families.js'
import { judge, type Measures, yardstickOf } from '../../worlds/harm.js'
import { RULES, type Rule } from '../../worlds/rules.js'
import { worldOf } from '../../worlds/world.js'
import { sharedRule } from './shared-rule.js'

/** A world under rule `fair-clock`: with all in one process, in independent processes, and in processes that share. */
export interface FleetTrial {
  readonly seed: number
  readonly processes: number
  readonly one: Measures
  readonly alone: Measures
  readonly shared: Measures
}

/** `undefined` for a world of one process. */
export function tryFleet(seed: number): FleetTrial | undefined {
  const world = worldOf(seed, FAMILY_LISTS.first)
  const { processes } = world
  if (processes === 1) return undefined
  const yardstick = yardstickOf(world, simulate(world, RULES.get('none')!))
  const under = (rule: Rule, some = world): Measures => judge(yardstick, simulate(some, rule))
  const clock = RULES.get('fair-clock')!
  return {
    seed,
    processes,
    one: under(clock, { ...world, processes: 1 }),
    alone: under(clock),
    shared: under(sharedRule()),
  }
}
