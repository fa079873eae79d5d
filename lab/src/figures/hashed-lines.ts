import { seededRandom } from '@fairlead/core/testing'
import type { Arrival, Discipline } from '../simulation/sfq/index.js'

/** Structure of the lines. */
export interface HashedLines {
  readonly lines: number
  /** Lines in a flow's hand, of which a request joins the shortest. */
  readonly hand: number
  readonly seed: number
  /** Overflow of a full line: evicts the last request of the flow with most in it, or refuses the new one. */
  readonly overflow: 'evict' | 'refuse'
  /** Requests that may wait in a line. @default 50 */
  readonly limit?: number
}

interface Line {
  readonly requests: Arrival[]
  /** Number of its requests, by flow. */
  readonly counts: Map<string, number>
}

/**
 * The post's queues, and McKenney's with a hand of one: lines in order of arrival, served in turns; a request joins the
 * shortest of the hand that was drawn for its flow. Written plainly, for comparison only: the queue that ships has no
 * such form.
 */
export function hashedLines({ lines: count, hand, seed, overflow, limit = 50 }: HashedLines): Discipline {
  const random = seededRandom(seed)
  const lines: readonly Line[] = Array.from({ length: count }, () => ({ requests: [], counts: new Map() }))
  const hands = new Map<string, readonly number[]>()
  let turn = 0

  const handOf = (flow: string): readonly number[] => {
    const known = hands.get(flow)
    if (known !== undefined) return known
    const cards = new Set<number>()
    while (cards.size < hand) cards.add(Math.floor(random() * count))
    hands.set(flow, [...cards])
    return [...cards]
  }
  const lineOf = ({ flow }: Arrival): Line =>
    handOf(flow)
      .map((card) => lines[card]!)
      .reduce((best, other) => (other.requests.length < best.requests.length ? other : best))
  const join = (arrival: Arrival, line = lineOf(arrival)): Line => {
    line.requests.push(arrival)
    line.counts.set(arrival.flow, (line.counts.get(arrival.flow) ?? 0) + 1)
    return line
  }
  return {
    enqueue(arrival) {
      const line = lineOf(arrival)
      if (overflow === 'refuse' && line.requests.length >= limit) return arrival
      join(arrival, line)
      return line.requests.length > limit ? evict(line) : undefined
    },
    dequeue(isDead) {
      for (let i = 0; i < count; i++) {
        turn = (turn + 1) % count
        const line = lines[turn]!
        while (line.requests.length > 0) {
          const next = takeOut(line, 0)
          if (!isDead(next)) return next
        }
      }
      return undefined
    },
    perturb() {
      hands.clear()
      const waiting = lines.flatMap(empty).sort((one, other) => one.atMs - other.atMs)
      for (const arrival of waiting) join(arrival)
    },
  }
}

/** Removes the last request of the flow with most requests in the line; of equal flows, of the first one. */
function evict(line: Line): Arrival {
  const { requests, counts } = line
  let most = 0
  for (const count of counts.values()) most = Math.max(most, count)
  const fattest = requests.find(({ flow }) => counts.get(flow) === most)!.flow
  return takeOut(
    line,
    requests.findLastIndex(({ flow }) => flow === fattest),
  )
}

function takeOut({ requests, counts }: Line, index: number): Arrival {
  const [arrival] = requests.splice(index, 1)
  const { flow } = arrival!
  const left = counts.get(flow)! - 1
  if (left > 0) counts.set(flow, left)
  else counts.delete(flow)
  return arrival!
}

function empty({ requests, counts }: Line): Arrival[] {
  counts.clear()
  return requests.splice(0)
}
