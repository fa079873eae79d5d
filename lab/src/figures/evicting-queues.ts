import type { Arrival, Discipline } from '@fairlead/core/simulation/sfq'
import { seededRandom } from '@fairlead/core/testing'

const LIMIT = 50

/**
 * The post's queues, as the published figures had them: `queues` lines in order of arrival, served in turns; a request
 * joins the shortest of the `hand` that was drawn for its flow, and a full line evicts the last request of the flow
 * with most in it. The queue that ships has no such form: in order of arrival it refuses the newcomer. Written plainly,
 * for comparison only.
 */
export function evictingQueues(queues: number, hand: number, seed: number): Discipline {
  const random = seededRandom(seed)
  const lines: Arrival[][] = Array.from({ length: queues }, () => [])
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
  const join = (arrival: Arrival): Arrival[] => {
    const line = handOf(arrival.flow)
      .map((card) => lines[card]!)
      .reduce((best, other) => (other.length < best.length ? other : best))
    line.push(arrival)
    return line
  }
  return {
    enqueue(arrival) {
      const line = join(arrival)
      return line.length > LIMIT ? evict(line) : undefined
    },
    dequeue(isDead) {
      for (let i = 0; i < queues; i++) {
        turn = (turn + 1) % queues
        const line = lines[turn]!
        while (line.length > 0) {
          const next = line.shift()!
          if (!isDead(next)) return next
        }
      }
      return undefined
    },
    perturb() {
      hands.clear()
      const waiting = lines.flatMap((line) => line.splice(0)).sort((one, other) => one.atMs - other.atMs)
      for (const arrival of waiting) join(arrival)
    },
  }
}

/** Takes the last request of the flow with most in the line out; of equals, of the one that came first. */
function evict(line: Arrival[]): Arrival {
  // The last to come is nearly always of the fattest itself.
  const last = line.at(-1)!
  let own = 0
  for (const { flow } of line) if (flow === last.flow) own++
  if (2 * own > line.length) return line.pop()!
  const counts = new Map<string, number>()
  for (const { flow } of line) counts.set(flow, (counts.get(flow) ?? 0) + 1)
  const most = Math.max(...counts.values())
  const fattest = [...counts].find(([, count]) => count === most)![0]
  return line.splice(
    line.findLastIndex(({ flow }) => flow === fattest),
    1,
  )[0]!
}
