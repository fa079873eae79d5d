import type { ClockBelief } from '../clock/state.js'
import type { ClockGreeting } from './report.js'
import { MOST_PART, median } from './trust.js'

/**
 * The state from which an arbiter starts, after the latest of these greetings; `undefined` if that changes nothing. If
 * half of the processes had an arbiter before, which told all the same, it is the median of theirs; otherwise the sum
 * of the parts of the others, if most of them see a shortage. No part counts as much larger than most.
 */
export function gathered(greetings: readonly ClockGreeting[]): ClockBelief | undefined {
  const followers = greetings.filter(({ following }) => following)
  // One of several may say that it was told anything.
  const goesOn = 2 * followers.length >= greetings.length
  if (goesOn && greetings.at(-1)?.following === false) return undefined
  const heard = goesOn ? followers : greetings.filter(({ following }) => !following)
  const beliefs = heard.map(({ belief }) => belief)
  const short = beliefs.filter(({ open }) => !open)
  const isShort = 2 * short.length > beliefs.length
  if (goesOn || !isShort) return typical(isShort ? short : beliefs.filter(({ open }) => open))
  const parts = short.map(({ deliverable }) => deliverable)
  const most = MOST_PART * median(parts)
  const deliverable = parts.reduce((all, part) => all + Math.min(part, most), 0)
  return { ...typical(short), deliverable, rate: median(short.map(({ rate }) => rate)) }
}

/** The median state, of which no amount is much larger or smaller than most. */
function typical(beliefs: readonly ClockBelief[]): ClockBelief {
  const sorted = beliefs.toSorted((x, y) => x.deliverable - y.deliverable || x.rate - y.rate)
  const middle = sorted[Math.floor((sorted.length - 1) / 2)]!
  const bounded = (of: (belief: ClockBelief) => number): number => {
    const usual = median(beliefs.map(of))
    return Math.min(Math.max(of(middle), usual / MOST_PART), MOST_PART * usual)
  }
  const most = bounded((belief) => belief.most)
  const within = (account: number): number => Math.max(-most, Math.min(account, most))
  return {
    ...middle,
    rate: bounded(({ rate }) => rate),
    meanCost: bounded(({ meanCost }) => meanCost),
    usual: bounded(({ usual }) => usual),
    deliverable: bounded(({ deliverable }) => deliverable),
    left: within(middle.left),
    owed: within(middle.owed),
    fill: bounded(({ fill }) => fill),
    floor: bounded(({ floor }) => floor),
    reserve: bounded(({ reserve }) => reserve),
    most,
  }
}
