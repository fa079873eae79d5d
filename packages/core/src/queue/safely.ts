import type { Passage } from '../admission/stage.js'
import { safeWeight } from '../weight.js'
import type { QueueOptions } from './options.js'
import { bandOfPriority, requireBand, requireClass, requireDeadline, requireWidth } from './wishes.js'

/**
 * The options of a queue, with functions that never throw: what they throw, or give that they may not, is told to
 * `failed`, and the request then has weight 1, one slot, the band of its priority, no deadline and no class. A request
 * that they fail for is no reason to have no limit.
 */
export function safely(options: QueueOptions, failed: (error: unknown) => void): QueueOptions {
  const { weightOf, width, bandOf, deadlineMsOf, classOf, bands = [{}] } = options
  function guarded<In, Out>(
    of: ((input: In) => Out) | undefined,
    check: (answer: Out) => void,
    otherwise: (input: In) => Out,
  ): ((input: In) => Out) | undefined {
    if (typeof of !== 'function') return of
    return (input) => {
      try {
        const answer = of(input)
        check(answer)
        return answer
      } catch (error) {
        failed(error)
        return otherwise(input)
      }
    }
  }
  const safe: Record<string, unknown> = {
    weightOf: typeof weightOf === 'function' ? safeWeight(weightOf, failed) : weightOf,
    width:
      typeof width === 'function'
        ? guarded(
            width,
            (slots) => requireWidth('width()', slots),
            () => 1,
          )
        : width,
    bandOf: guarded(
      bandOf,
      (band) => requireBand('bandOf()', band, bands.length),
      ({ priority }: Passage) => bandOfPriority(priority, bands.length),
    ),
    deadlineMsOf: guarded(
      deadlineMsOf,
      (deadlineMs) => {
        if (deadlineMs !== undefined) requireDeadline('deadlineMsOf()', deadlineMs)
      },
      () => undefined,
    ),
    classOf: guarded(
      classOf,
      (name) => requireClass('classOf()', name),
      () => 'unknown',
    ),
  }
  for (const name of Object.keys(safe)) if (safe[name] === undefined) delete safe[name]
  return { ...options, ...safe }
}
