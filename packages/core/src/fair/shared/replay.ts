import type { FairClock } from '../clock/fair-clock.js'
import type { Admission } from '../clock/state.js'
import type { Amount, SlotSums } from './report.js'

/** For outcomes of older admissions, only their number is passed to the clock. */
const REMEMBERED_SLOTS = 1000
/**
 * Most calls of the clock for one slot. By the period, 1 000 to 3 000 requests a second, in all processes, are replayed one by one; above
 * that, a sample of this size represents all. So no reported number can keep the arbiter busy.
 */
const MOST_PLAYED = 256

type Summed = 'known' | 'ahead' | 'strained' | 'settled'

/**
 * Replays the sums of all processes into their clock, a slot at a time, as if the requests had arrived at one process.
 * Within a slot, requests and outcomes are assumed to be evenly spread.
 */
export class Replay {
  readonly #slotSeconds: number
  readonly #admissions = new Map<number, Admission>()

  constructor(slotSeconds: number) {
    this.#slotSeconds = slotSeconds
  }

  play(clock: FairClock, slot: number, all: readonly SlotSums[]): void {
    const seconds = this.#slotSeconds
    const start = slot * seconds
    let now = start
    const letIn = total(all.map((sums) => sums.letIn))
    const refused = total(all.map((sums) => sums.refused))
    const sum = (of: Summed): number => all.reduce((sum, each) => sum + each[of], 0)
    const rows = all.flatMap(({ ended }) => ended)
    const outcomes = total(rows.flatMap(({ success, failure, ignored }) => [success, failure, ignored]))
    // Admissions are also recorded.
    const calls = sum('known') + sum('strained') + 2 * letIn[0] + refused[0] + outcomes[0]
    const each = Math.max(1, calls / MOST_PLAYED)
    let rest = 0.5
    /** Number of calls that represent these requests, `each` of them: a remainder is carried over. */
    const played = (requests: number): number => {
      rest += requests / each
      const whole = Math.floor(rest)
      rest -= whole
      return whole
    }
    const events: { count: number; happened: number; happen: () => void }[] = []
    const add = (requests: number, happen: () => void): void => {
      const count = played(requests)
      if (count > 0) events.push({ count, happened: 0, happen })
    }
    const costOf = ([requests, cost]: Amount): number => (cost / requests) * each
    add(sum('ahead'), () => clock.shadow(true, each))
    add(sum('known') - sum('ahead'), () => clock.shadow(false, each))
    add(sum('strained'), () => clock.strain(each))
    const steps = Math.max(1, letIn[0] / each, refused[0] / each)
    clock.advance(start + (0.25 / steps) * seconds)
    const admission = {
      ...(this.#admissions.get(slot - 1) ?? { at: 0, window: -1, look: 0, isDry: false, running: 0 }),
    }
    admission.at = start + seconds / 2
    add(letIn[0], () => {
      clock.arrives(letIn[1] / letIn[0], 1)
      clock.letIn(costOf(letIn))
    })
    for (let noted = played(letIn[0]); noted > 0; noted--) clock.note(admission, costOf(letIn))
    this.#admissions.set(slot, admission)
    this.#admissions.delete(slot - REMEMBERED_SLOTS)
    add(refused[0], () => {
      clock.arrives(refused[1] / refused[0], 1)
      clock.refuse(costOf(refused))
    })
    for (const row of rows) {
      const at = Math.max(row.letIn, slot - REMEMBERED_SLOTS) * seconds
      const known = this.#admissions.get(row.letIn) ?? { at, window: -1, look: 0, isDry: false, running: 0 }
      const isNow = row.letIn >= slot
      const own = { ...known }
      const of = (): Admission => {
        if (isNow) own.at = now
        return own
      }
      const expected = row.expected / (row.success[0] + row.failure[0])
      add(row.success[0], () => clock.succeeded(costOf(row.success), of(), expected))
      add(row.failure[0], () => clock.failed(costOf(row.failure), of(), expected))
      add(row.ignored[0], () => clock.ignored(costOf(row.ignored), of()))
    }
    const rounds = Math.max(1, ...events.map(({ count }) => count))
    for (let round = 1; round <= rounds; round++) {
      now = start + ((round - 0.5) / rounds) * seconds
      clock.advance(now)
      for (const event of events)
        for (; rounds * (event.happened + 0.5) <= round * event.count; event.happened++) event.happen()
    }
    clock.settle(sum('settled'))
  }
}

function total(amounts: readonly Amount[]): Amount {
  return amounts.reduce<Amount>(([requests, cost], each) => [requests + each[0], cost + each[1]], [0, 0])
}
