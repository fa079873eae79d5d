import { Ages, LifeTable } from './life-table.js'

/**
 * Ratio of a level to the one before; throughput must grow by at least its square root. A round has too few completions
 * to prove much smaller steps.
 */
const STEP = 2
/**
 * Shortest round, and the completions that then end it. In a careful climb, which waits for them without a time limit,
 * fewer: at five slots of 5 s they are half a minute.
 */
const SHORTEST_MS = 200
const ENOUGH = 100
const CAREFUL_ENOUGH = 30
/**
 * Requests that still run make the mean duration by Little's law longer than that of the ended ones. Beyond this ratio,
 * most have not ended yet, and what was measured below the level shows their start only.
 */
const UNFINISHED = 3
/** Number of ends of which none happens by chance once in twenty times. */
const UNLIKELY = 3
/**
 * A queue inside the service drains in a mean duration, by Little's law; in five, if four fifths of the requests are
 * hits of a cache. After this multiple, those that still run are no queue but long, and would hold up all others.
 */
const DRAINED = 20
/** Completions for which the longest round waits, as long as requests end. */
const LEAST = 10
/**
 * Longest round, and the longest part of its beginning that is left out. With requests of 5 s, four rounds climb from
 * 20 to 200 before the first request has ended.
 */
const LONGEST_MS = 1_500
/** A round that leaves a suspicion continues to this multiple of the completions, or of the longest time. */
const LONGER = 2
/**
 * Standard errors by which requests must have become slower: to extend a round, or to confirm a doubt; and to doubt the
 * level, with an error at one level in a hundred.
 */
const SUSPECTED = 1
const SURE = 2.33

/** A level that seemed too high, with its data, until the lower one has been measured again. */
interface Doubt {
  readonly lower: number
  readonly table: LifeTable
  readonly upper: number
  /** Time after which what is in flight above the lower level is no queue. */
  readonly longestMs: number
}

/** Sums over some time. */
class LevelTally {
  ms = 0
  /** Sum of the number in flight over time. */
  area = 0
  /** Requests that ended, and those of them that succeeded. */
  ends = 0
  successes = 0
  durationsMs = 0

  /** Mean number in flight. */
  get level(): number {
    return this.area / this.ms
  }

  /** Throughput: of requests that succeeded. */
  get perMs(): number {
    return this.successes / this.ms
  }

  pass(elapsedMs: number, inFlight: number): void {
    this.ms += elapsedMs
    this.area += elapsedMs * inFlight
  }

  end(durationMs: number, success: boolean): void {
    this.ends++
    if (success) this.successes++
    if (durationMs > 0 && durationMs < Number.POSITIVE_INFINITY) this.durationsMs += durationMs
  }

  add({ ms, area, ends, successes, durationsMs }: LevelTally): void {
    this.ms += ms
    this.area += area
    this.ends += ends
    this.successes += successes
    this.durationsMs += durationsMs
  }

  /** Multiplies all sums by `kept`, from 0 to 1. */
  fade(kept: number): void {
    this.ms *= kept
    this.area *= kept
    this.ends *= kept
    this.successes *= kept
    this.durationsMs *= kept
  }
}

/**
 * Finds the number of useful slots by trial: doubles the limit, round after round, as long as requests wait and more
 * requests in flight raise the throughput. TCP and BBR start in the same way; this rule differs in the proof that the
 * limit is too high.
 *
 * The throughput of a service without a bottleneck grows in proportion to the number in flight, for any durations. A
 * level is too high if, against some lower one, k times the slots have brought less than √k times the completions per
 * second, *and* requests have surely become slower: at the same age, fewer of them end than at all lower levels, by
 * 2.33 standard errors. Throughput alone also falls while slow requests fill the new slots, and by an unlucky mix; the
 * ends at an age depend on neither. Hits of a cache, which no bottleneck slows down, are no evidence, and do no harm.
 *
 * A request that ends without success counts as one that still runs: at that age it was given up, and has not ended. So
 * time-outs, which end at the same age at all levels, hide nothing. While all end so, a higher level cannot be better.
 *
 * The limit then goes back to the lowest level that served as much, and measures that again: all requests may have
 * become slower, at any level, because a service downstream did. That round begins once no more are in flight than its
 * level allows, or the climb ends at the upper level after twenty mean durations without that: a queue in the service
 * would be gone. It waits for 30 completions, and the climb ends if the requests of the higher level were slower than
 * these, too, by one standard error; otherwise it goes on from here, with this round as its only data.
 *
 * A round lasts 200 ms and 100 completions, or 1.5 s. After that it waits for ten, since a few ends prove nothing and
 * the next level would drown them, but only as long as some end: if none does in 1.5 s, nothing shows that too much is
 * in flight. A round that leaves a suspicion, of one standard error, continues for twice as long. Its end depends on
 * the time with waiting requests alone, from one mean duration after the step on.
 *
 * What counts as evidence is all time in which more than half of the level is in flight, and what less in flight has
 * served is a lower level, too. A service of one request per second is full only after it has become slower for half a
 * minute, and then nothing ends: only what ended before shows that silence is no pure wait. That level is left out if
 * the requests that still ran there make its mean duration more than three times that of the ended ones: then it shows
 * the start of slow requests, and the quick ones alone. It is forgotten if fewer end now than the number in flight
 * explains, the inverse of the throughput at most: then the service has become another.
 *
 * A *careful* climb starts from a limit that was found to be right, so it goes up by evidence alone. Its rounds wait for
 * 30 successes, from one whole mean duration after the step on, and go on without only after a long silence. So the
 * number of requests, not the time, decides when a service of slow requests is found to have room.
 *
 * @see N. Cardwell et al., "BBR: congestion-based congestion control", ACM Queue 14, 2016
 */
export class Climb {
  readonly from: number
  readonly careful: boolean
  readonly #max: number
  readonly #min: number
  readonly #leastMs: number
  readonly #silenceMs: number
  readonly #rounds: LevelTally[] = []
  /** The data of all rounds before this one. */
  #lower: LifeTable = new LifeTable()
  readonly #ages: Ages = new Ages()
  #limit: number
  #ended = false
  /** Requests have been waiting since the round began. */
  #open = false
  /** Time since they did so, in this round. It goes on after less than a mean duration: the next arrival is near. */
  #pausedMs: number = Number.POSITIVE_INFINITY
  /** The level seemed too high, and the round continues. */
  #suspicious = false
  #doubt: Doubt | undefined
  /** Time with waiting requests in the round, completions in it, those with success, and the time at the last one. */
  #fullMs = 0
  #completions = 0
  #successes = 0
  #lastEndMs = 0
  /** True above a half of the limit, until less than a quarter is in flight. */
  #near = false
  /** What has been measured since that changed, and what before, while fewer were in flight. */
  #here: LevelTally = new LevelTally()
  #below: LevelTally = new LevelTally()
  /** A request was admitted since, and did not run. */
  #undone = false
  #settleMs = 0
  /** Rest of that time. */
  #settlingMs = 0
  #spentMs = 0

  /**
   * `from`, `max` and `min` are whole numbers, 1 <= min <= from <= max; `leastMs`: time over which a round must
   * average, because all requests become slower and quicker together; `silenceMs`: time without an end after which a
   * round is over.
   */
  constructor(from: number, max: number, careful = false, min = 1, leastMs = 0, silenceMs?: number) {
    this.#min = min
    this.#silenceMs = silenceMs ?? (careful ? Number.POSITIVE_INFINITY : LONGEST_MS)
    this.#leastMs = leastMs
    this.from = from
    this.#limit = from
    this.#max = max
    this.careful = careful
  }

  /** Slots at present. */
  get limit(): number {
    return this.#limit
  }

  /** True once {@link limit} is the final result. */
  get ended(): boolean {
    return this.#ended
  }

  /** True while only the climb may judge the limit: requests wait, or the limit is not yet known to be right. */
  get underWay(): boolean {
    return !this.#ended && (this.#open || this.#doubt !== undefined || this.#limit > this.from)
  }

  /** Total time of the rounds, in milliseconds. */
  get spentMs(): number {
    return this.#spentMs
  }

  /** Time until the requests in flight show the effect of the last step, in milliseconds. */
  get settleMs(): number {
    return this.#settleMs
  }

  /**
   * Another `elapsedMs` have passed with `inFlight` slots taken; `full`: requests waited for a slot all that time.
   */
  pass(elapsedMs: number, full: boolean, inFlight: number): void {
    if (this.#ended) return
    if (inFlight > this.#limit / 2 ? !this.#near : this.#near && inFlight < this.#limit / 4) this.#cross()
    this.#ages.pass(elapsedMs)
    if (this.#settlingMs > 0 && this.#settlingMs <= elapsedMs) this.#restart()
    const countedMs = Math.max(0, elapsedMs - this.#settlingMs)
    this.#settlingMs = Math.max(0, this.#settlingMs - elapsedMs)
    this.#here.pass(countedMs, inFlight)
    if (this.#doubt ? inFlight > this.#limit : !full) {
      this.#pause(elapsedMs)
      if (this.#doubt && this.#here.ms > this.#doubt.longestMs) this.#end(this.#doubt.upper)
      return
    }
    if (!this.#open) this.#begin()
    this.#spentMs += elapsedMs
    this.#fullMs += countedMs
    if (this.#isOver) this.#judge()
  }

  /** A request started. */
  start(): void {
    this.#ages.start()
  }

  /** A request ended after `durationMs`, with or without success. */
  complete(durationMs: number, success = true): void {
    const counts = this.#settlingMs <= 0
    this.#ages.end(durationMs, counts, success)
    if (!counts) return
    this.#here.end(durationMs, success)
    if (!this.#open) return
    this.#completions++
    if (success) this.#successes++
    this.#lastEndMs = this.#fullMs
    if (this.#isOver) this.#judge()
  }

  /** A request ended without success so soon that it says nothing. */
  passOver(durationMs: number): void {
    this.#ages.end(durationMs, this.#settlingMs <= 0, false)
  }

  /** A request was admitted, and did not run. */
  undo(): void {
    this.#ages.undo()
    this.#undone = true
  }

  get #isOver(): boolean {
    if (this.#here.ms < this.#leastMs) return false
    const longer = this.#suspicious ? LONGER : 1
    const enough = longer * (this.careful ? CAREFUL_ENOUGH : ENOUGH)
    if (this.#successes >= enough) return this.#fullMs >= SHORTEST_MS + this.#settleMs
    if (this.#fullMs < longer * this.#silenceMs) return false
    const silent = this.#fullMs - this.#lastEndMs >= this.#silenceMs
    if (!silent && (this.careful || this.#successes < LEAST)) return false
    return this.#doubt === undefined || this.#successes >= CAREFUL_ENOUGH
  }

  /** Halves the weight of what was measured, while the climb has not begun. */
  fade(): void {
    this.#pausedMs = Number.POSITIVE_INFINITY
    if (!this.#near) this.#keep()
    this.#restart()
    this.#lower.fade(0.5)
    this.#below.fade(0.5)
  }

  /** More than a half of the limit is in flight now, or less than a quarter. */
  #cross(): void {
    if (!this.#near) this.#keep()
    this.#near = !this.#near
    this.#open = false
    this.#pausedMs = Number.POSITIVE_INFINITY
    this.#restart()
  }

  #keep(): void {
    this.#lower.merge(this.#ages.table(this.#here.ms))
    this.#below.add(this.#here)
  }

  #restart(): void {
    this.#ages.clear()
    this.#here = new LevelTally()
  }

  #settle(): void {
    this.#restart()
    this.#settlingMs = this.#settleMs
  }

  /** Nobody waits: the round goes on once somebody does. A lower level must be reached anew. */
  #pause(elapsedMs: number): void {
    if (this.#open && this.#doubt === undefined) this.#pausedMs = 0
    this.#open = false
    this.#pausedMs += elapsedMs
  }

  #begin(): void {
    this.#open = true
    const { area, ends } = this.#here
    if (this.#pausedMs < area / ends) return
    if (this.#doubt) this.#settle()
    this.#suspicious = false
    this.#undone = false
    this.#fullMs = 0
    this.#lastEndMs = 0
    this.#completions = 0
    this.#successes = 0
  }

  #judge(): void {
    this.#open = false
    this.#pausedMs = Number.POSITIVE_INFINITY
    // No request ended: either all running ones are slow, or none has run.
    if (this.#here.ends > 0 || !this.#undone) this.#compare()
  }

  #compare(): void {
    const here = this.#here
    const { level, perMs } = here
    const table = this.#ages.table(here.ms)
    if (this.#doubt) {
      const { lower, table: upper } = this.#doubt
      this.#doubt = undefined
      if (upper.slowerThan(table) >= SUSPECTED) {
        this.#end(lower)
        return
      }
      this.#forget()
    }
    const settled = this.#below.area < UNFINISHED * this.#below.durationsMs
    const lowers = settled ? [this.#below, ...this.#rounds] : this.#rounds
    let enough = lowers.find((lower) => {
      const slots = level / lower.level
      return (perMs / lower.perMs) * Math.sqrt(slots) < slots
    })
    if (enough === this.#below && this.#isOutdated(enough)) {
      this.#forget()
      enough = undefined
    }
    // Requests end, and none succeeds: a higher level cannot be better.
    if (!enough && here.ends > 0 && here.successes === 0) return
    const slower = enough ? table.slowerThan(this.#lower) : 0
    if (enough && slower >= SURE) {
      const upper = this.#limit
      this.#limit = Math.max(this.#min, Math.round(enough.level))
      this.#doubt = {
        lower: this.#limit,
        table,
        upper,
        longestMs: Math.max(LONGEST_MS, (DRAINED * here.area) / here.ends),
      }
      this.#restart()
    } else if (slower >= SUSPECTED && !this.#suspicious) {
      this.#suspicious = true
      this.#open = true
    } else {
      this.#rounds.push(here)
      this.#lower.merge(table)
      if (here.ends > 0) {
        const meanMs = here.durationsMs / here.ends
        this.#settleMs = this.careful ? meanMs : Math.min(LONGEST_MS, meanMs)
      }
      this.#step()
    }
  }

  /** So few ends, since requests wait, are beyond what the number in flight explains. */
  #isOutdated({ perMs, level }: LevelTally): boolean {
    return this.#completions + UNLIKELY <= perMs * this.#fullMs * (level / this.#limit)
  }

  /** What was measured at lower levels belongs to another time. */
  #forget(): void {
    this.#rounds.length = 0
    this.#lower = new LifeTable()
    this.#below = new LevelTally()
  }

  #step(): void {
    this.#settle()
    if (this.#limit >= this.#max) this.#end(this.#max)
    else this.#limit = Math.min(this.#max, STEP * this.#limit)
  }

  #end(limit: number): void {
    this.#limit = limit
    this.#ended = true
  }
}
