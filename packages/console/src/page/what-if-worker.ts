import type { Frame, RecordFrame } from '../frame.js'
import { type ReplayTerms, recordingOf, replay, termsAsTheyWere } from './replay.js'

/** The page's question to its worker. */
export interface ReplayQuestion {
  readonly records: readonly RecordFrame[]
  readonly frames: readonly Frame[]
  /** The changes: rule, factors and weights. */
  readonly rule: ReplayTerms['rule'] | undefined
  readonly capacityFactor: number
  readonly weights: readonly (readonly [string, number])[]
}

export type ReplayAnswer =
  | { readonly type: 'progress'; readonly part: number }
  | {
      readonly type: 'done'
      readonly asItWas: Frame[]
      readonly ifSo: Frame[]
      readonly terms: ReplayTerms
      readonly dropped: number
    }
  | { readonly type: 'failed'; readonly message: string }

addEventListener('message', (event: MessageEvent<ReplayQuestion>) => {
  const tell = (answer: ReplayAnswer): void => postMessage(answer)
  answerTo(event.data, (part) => tell({ type: 'progress', part })).then(tell, (error: unknown) =>
    tell({ type: 'failed', message: String(error) }),
  )
})

async function answerTo(question: ReplayQuestion, onProgress: (part: number) => void): Promise<ReplayAnswer> {
  const { records, frames, rule, capacityFactor, weights } = question
  const recording = recordingOf(records)
  onProgress(0)
  const terms = await termsAsTheyWere(recording, frames)
  onProgress(0.4)
  const asItWas = await replay(recording, terms, (part) => onProgress(0.4 + 0.3 * part))
  const changed: ReplayTerms = {
    ...terms,
    capacity: terms.capacity * capacityFactor,
    weights: new Map([...terms.weights, ...weights]),
  }
  // Slots and a rate differ: a queue instead of FAIR gets as many slots as a second's work occupies, and conversely.
  const other = rule === undefined || rule === terms.rule ? changed : converted(changed, rule, frames)
  const ifSo = await replay(recording, other, (part) => onProgress(0.7 + 0.3 * part))
  return { type: 'done', asItWas, ifSo, terms, dropped: recording.dropped }
}

/** By Little's law, the concurrency is the number served per second times the duration. */
function converted(terms: ReplayTerms, rule: ReplayTerms['rule'], frames: readonly Frame[]): ReplayTerms {
  if (terms.rule !== 'queue' && rule !== 'queue') return { ...terms, rule }
  const seconds = Math.max(1e-3, (frames.at(-1)?.durations.p50 ?? 100) / 1_000)
  return { ...terms, rule, capacity: rule === 'queue' ? terms.capacity * seconds : terms.capacity / seconds }
}
