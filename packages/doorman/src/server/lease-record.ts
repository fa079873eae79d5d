import { compileGlob, type Matches } from './glob.js'
import type { ResourceTemplate } from './repository.js'
import { rulesOf } from './rules.js'

/** By glob, in their order: the seconds for which a successor reserves. */
type LeaseLengths = readonly (readonly [glob: string, seconds: number])[]

/** LeaseLengths that were in force until that time, in seconds since the epoch. */
interface Former {
  readonly leases: LeaseLengths
  readonly until: number
}

/**
 * How long the grants of masters may last, as text that a successor reads: its own configuration may have shorter
 * leases. Earlier lengths stay until the last lease by them has ended. Times are seconds since the epoch.
 */
export class LeaseRecord {
  readonly #present: LeaseLengths
  readonly #former: readonly Former[]
  readonly #matchers = new Map<string, Matches>()

  private constructor(present: LeaseLengths, former: readonly Former[]) {
    this.#present = present
    this.#former = former
  }

  /** The record of a master with this configuration, and without a predecessor. */
  static of(templates: readonly ResourceTemplate[]): LeaseRecord {
    return new LeaseRecord(lengthsOf(templates), [])
  }

  /** `undefined` if the text is none; an earlier version wrote such. */
  static from(text: string): LeaseRecord | undefined {
    try {
      const { leases, former } = JSON.parse(text) as { leases: LeaseLengths; former: Former[] }
      const record = new LeaseRecord(leases, former)
      return [leases, ...former.map((each) => each.leases)].every(isLengths) &&
        former.every(({ until }) => Number.isFinite(until))
        ? record
        : undefined
    } catch {
      return undefined
    }
  }

  /** The record when another configuration comes into force: at `now`, or up to `within` seconds later. */
  followedBy(templates: readonly ResourceTemplate[], now: number, within = 0): LeaseRecord {
    const present = lengthsOf(templates)
    const text = JSON.stringify(present)
    // What is former already has ended by now: a later time is from a clock that was ahead.
    const ended = this.#former.map(({ leases, until }) => ({ leases, until: Math.min(until, Math.ceil(now)) }))
    if (text === JSON.stringify(this.#present)) return new LeaseRecord(present, ended)
    const former = new Map<string, Former>()
    for (const each of [...ended, { leases: this.#present, until: Math.ceil(now + within) }])
      if (longestOf(each.leases) + each.until > now) former.set(JSON.stringify(each.leases), each)
    former.delete(text)
    return new LeaseRecord(present, [...former.values()])
  }

  /** The time at which the last lease of a resource has ended, if the last grant was at `grantedAt`. */
  endOf(resourceId: string, grantedAt: number): number {
    let end = Number.NEGATIVE_INFINITY
    for (const { leases, until } of [...this.#former, { leases: this.#present, until: grantedAt }])
      end = Math.max(end, Math.min(until, grantedAt) + this.#secondsOf(resourceId, leases))
    return end
  }

  toString(): string {
    return JSON.stringify({ leases: this.#present, former: this.#former })
  }

  /** As templates are found: first by exact name, then by the first glob that matches. */
  #secondsOf(resourceId: string, leases: LeaseLengths): number {
    const found =
      leases.find(([glob]) => glob === resourceId) ?? leases.find(([glob]) => this.#matcher(glob)(resourceId))
    return found?.[1] ?? Number.NEGATIVE_INFINITY
  }

  #matcher(glob: string): Matches {
    const matches = this.#matchers.get(glob) ?? compileGlob(glob)
    this.#matchers.set(glob, matches)
    return matches
  }
}

function lengthsOf(templates: readonly ResourceTemplate[]): LeaseLengths {
  return templates.map(({ identifierGlob, algorithm }) => [identifierGlob, rulesOf(algorithm).learningSeconds])
}

function longestOf(leases: LeaseLengths): number {
  return leases.reduce((longest, [, seconds]) => Math.max(longest, seconds), 0)
}

function isLengths(leases: LeaseLengths): boolean {
  return leases.every(([glob, seconds]) => {
    compileGlob(glob)
    return Number.isFinite(seconds)
  })
}
