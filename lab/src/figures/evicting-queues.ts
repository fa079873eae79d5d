import { seededRandom } from '@fairlead/core/testing'
import type { Arrival, Discipline } from '../simulation/sfq/index.js'

const LIMIT = 50

interface Line {
  readonly requests: Arrival[]
  /** How many of them are whose. */
  readonly counts: Map<string, number>
}

/**
 * The post's queues, as the published figures had them: `queues` lines in order of arrival, served in turns; a request
 * joins the shortest of the `hand` that was drawn for its flow, and a full line evicts the last request of the flow
 * with most in it. The queue that ships has no such form: in order of arrival it refuses the newcomer. Written plainly,
 * for comparison only.
 */
export function evictingQueues(queues: number, hand: number, seed: number): Discipline {
  const random = seededRandom(seed)
  const lines: readonly Line[] = Array.from({ length: queues }, () => ({ requests: [], counts: new Map() }))
  const hands = new Map<string, readonly number[]>()
  let turn = 0

  const handOf = (flow: string): readonly number[] => {
    const known = hands.get(flow)
    if (known !== undefined) return known
    const cards = new Set<number>()
    while (cards.size < hand) cards.add(Math.floor(random() * queues))
    hands.set(flow, [...cards])
    return [...cards]
  }
  const join = (arrival: Arrival): Line => {
    const line = handOf(arrival.flow)
      .map((card) => lines[card]!)
      .reduce((best, other) => (other.requests.length < best.requests.length ? other : best))
    line.requests.push(arrival)
    line.counts.set(arrival.flow, (line.counts.get(arrival.flow) ?? 0) + 1)
    return line
  }
  return {
    enqueue(arrival) {
      const line = join(arrival)
      return line.requests.length > LIMIT ? evict(line) : undefined
    },
    dequeue(isDead) {
      for (let i = 0; i < queues; i++) {
        turn = (turn + 1) % queues
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

/** Takes the last request of the flow with most in the line out; of equals, of the one that came first. */
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
