import type { Outcome } from '../admission/outcome.js'
import type { Refusal } from '../admission/refusal.js'
import type { Hold, Passage, Stage } from '../admission/stage.js'

/** A probe's record of a request. */
export interface ProbedPassage {
  readonly flow: string
  readonly cost: number
  readonly priority: number
  readonly exempt: boolean
  /** Absent if the request named none. */
  readonly resource?: string
}

/** A stage that admits everything and records the calls of its holds. */
export interface ProbeStage extends Stage {
  /** Every request, in order. */
  readonly passages: readonly ProbedPassage[]
  /** Outcomes passed to `finish`, in order. */
  readonly outcomes: readonly Outcome[]
  /** Refusals passed to `undo`, in order. */
  readonly undone: readonly Refusal[]
  /** Holds that have been neither finished nor undone. */
  readonly outstanding: number
  /** Calls on holds that had already ended: more than none is a bug of the gate. */
  readonly doubled: number
}

/** Makes a probe. `changed` is called after every recorded call. */
export function probeStage(name: string = 'probe', changed: () => void = () => {}): ProbeStage {
  const passages: ProbedPassage[] = []
  const outcomes: Outcome[] = []
  const undone: Refusal[] = []
  let outstanding = 0
  let doubled = 0

  function hold(): Hold {
    let held = true
    outstanding++
    const giveBack = (): void => {
      if (held) outstanding--
      else doubled++
      held = false
      changed()
    }
    return {
      finish(outcome) {
        outcomes.push(outcome)
        giveBack()
      },
      undo(refusal) {
        undone.push(refusal)
        giveBack()
      },
    }
  }

  return {
    name,
    passages,
    outcomes,
    undone,
    get outstanding() {
      return outstanding
    },
    get doubled() {
      return doubled
    },
    admit({ flow, cost, resource, priority, exempt }: Passage): Hold {
      passages.push({ flow, cost, priority, exempt, ...(resource !== undefined && { resource }) })
      changed()
      return hold()
    },
  }
}
