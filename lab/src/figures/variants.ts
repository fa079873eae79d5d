import { arrivalOrder, type Discipline, fairQueue, textbookRoundRobin } from '../simulation/sfq/index.js'
import { type HashedLines, hashedLines } from './hashed-lines.js'

/** A queueing discipline. From `hashed` on, the queue that ships. */
export interface Variant {
  readonly title: string
  /** For the head of a wide table. */
  readonly short: string
  /** `maxWaiting` if the scenario needs another bound than the queue's own. */
  make(seed: number, maxWaiting?: number): Discipline
}

export type VariantName =
  | 'arrivalOrder'
  | 'textbook'
  | 'evicting1'
  | 'evicting2'
  | 'evicting4'
  | 'first'
  | 'shortestOf2'
  | 'shortestOf4'
  | 'hashed'
  | 'auto'
  | 'perFlow'
  | 'sparseFirst'

/** The post's and McKenney's queues: 64, each in order of arrival. */
const lines = (hand: number, overflow: HashedLines['overflow'], seed: number): Discipline =>
  hashedLines({ lines: 64, hand, seed, overflow })
const bound = (maxWaiting: number | undefined): { maxWaiting?: number } =>
  maxWaiting === undefined ? {} : { maxWaiting }

export const VARIANTS: Readonly<Record<VariantName, Variant>> = {
  arrivalOrder: {
    title: 'one line for all',
    short: 'one line',
    make: (_seed, maxWaiting = 3_200) => arrivalOrder(maxWaiting),
  },
  textbook: {
    title: 'textbook round robin',
    short: 'exact',
    make: () => textbookRoundRobin(),
  },
  evicting1: { title: 'single hash, evicting', short: 'single hash', make: (seed) => lines(1, 'evict', seed) },
  evicting2: { title: 'shortest of 2, evicting', short: 'shortest of 2', make: (seed) => lines(2, 'evict', seed) },
  evicting4: { title: 'shortest of 4, evicting', short: 'shortest of 4', make: (seed) => lines(4, 'evict', seed) },
  first: {
    title: '64 queues, single hash',
    short: 'single hash',
    make: (seed) => lines(1, 'refuse', seed),
  },
  shortestOf2: {
    title: '64 queues, shortest of 2',
    short: 'shortest of 2',
    make: (seed) => lines(2, 'refuse', seed),
  },
  shortestOf4: {
    title: '64 queues, shortest of 4',
    short: 'shortest of 4',
    make: (seed) => lines(4, 'refuse', seed),
  },
  hashed: {
    title: '64 hashed queues',
    short: '64 queues',
    make: (seed, most) => fairQueue({ queues: 64, sparseFirst: false, ...bound(most), seed }),
  },
  auto: {
    title: 'auto from 64',
    short: 'auto',
    make: (seed, most) => fairQueue({ queues: 'auto', sparseFirst: false, ...bound(most), seed }),
  },
  perFlow: {
    title: 'per flow, round robin',
    short: 'per flow',
    make: (_seed, most) => fairQueue({ sparseFirst: false, ...bound(most) }),
  },
  sparseFirst: {
    title: 'per flow, sparse first (default)',
    short: 'default',
    make: (_seed, most) => fairQueue({ ...bound(most) }),
  },
}
