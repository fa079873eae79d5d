interface Heard {
  readonly serial: number
  readonly at: number
  readonly failed: boolean
}

/** Requests that are tried with less than there could be: from one number to before another, at a rate. */
interface Trial {
  readonly expected: number
  readonly rate: number
  readonly beganAt: number
  readonly from: number
  to: number
  readonly heard: Heard[]
}

/**
 * Failures that come however little is let in, once more and plainly: keeps lists of outcomes and counts them when
 * asked. Part of the oracle `ExactClock`.
 */
export class ExactBackground {
  share = 0
  trial: Trial | undefined
  highest = 0
  #heard: Heard[] = []
  #lowest = 0
  #found = 0
  #seen = 0
  #store = 0
  #restUntil = 0
  #outcomes = 0

  /** So many requests per second may come in now, after number `last`. */
  most(last: number, now: number): number {
    const { trial } = this
    if (trial === undefined || last >= trial.to) return Number.POSITIVE_INFINITY
    if (now < trial.beganAt + 20) return trial.rate
    trial.to = Math.max(last + 1, trial.from)
    return Number.POSITIVE_INFINITY
  }

  isDue(now: number): boolean {
    return this.share > 0 && this.trial === undefined && now >= this.#restUntil
  }

  /** An outcome; `last` is the number of the latest admission, `C` the capacity. True: a failure that says nothing. */
  report(heard: Heard, last: number, now: number, short: boolean, C: number): boolean {
    if (this.share > 0) {
      this.#seen += ((heard.failed ? 1 : 0) - this.#seen) / 200
      this.share = Math.min(this.#seen, this.#found)
      if (this.share < 0.0075) this.share = this.#found = 0
      this.#store = Math.min(8, this.#store + 1.3 * this.share + 0.01)
    }
    if (this.trial !== undefined) this.#try(this.trial, heard, last, now, C)
    else if (!short) {
      this.#heard = []
      this.#outcomes = 0
    } else {
      this.#outcomes++
      if (this.#outcomes > 100) this.highest = Math.max(this.highest, C)
      this.#suspect(heard, last, now, C)
    }
    if (!heard.failed || this.share === 0 || this.#store < 1 || this.most(last, now) < Number.POSITIVE_INFINITY)
      return false
    this.#store--
    return true
  }

  #suspect(heard: Heard, last: number, now: number, C: number): void {
    if (this.#heard.length === 0 || C < this.#lowest) this.#lowest = C
    if (C > 1.5 * this.#lowest) {
      this.#heard = []
      return
    }
    this.#heard.push(heard)
    if (countFailed(this.#heard) < 20) {
      if (this.#heard.length > 20 / 0.03) this.#heard = []
      return
    }
    const expected = shareOf(this.#heard)
    const odd = C < 0.75 * this.highest && expected >= 0.03 && expected <= 0.8
    if (odd || this.isDue(now)) this.#begin(this.#heard, last, now)
    this.#heard = []
  }

  /** The outcomes that were heard so far are what those of the trial will be held against. */
  #begin(heard: readonly Heard[], last: number, now: number): void {
    const expected = shareOf(heard)
    const inOrder = heard.toSorted((x, y) => x.serial - y.serial)
    const [first, latest] = [inOrder[0]!, inOrder.at(-1)!]
    const rate = (0.85 * (1 - expected) * (latest.serial - first.serial)) / Math.max(0.02, latest.at - first.at)
    const length = Math.ceil(16 / expected)
    const from = last + 1 + Math.ceil(0.25 * length)
    this.trial = { expected, rate, beganAt: now, from, to: from + length, heard: [] }
  }

  #try({ expected, beganAt, from, to, heard }: Trial, one: Heard, last: number, now: number, C: number): void {
    if (one.serial >= from && one.serial < to) heard.push(one)
    const isSure = countFailed(heard) >= 24
    const isUnclear = !isSure && heard.length * expected < 6
    const isOver = isSure || heard.length >= to - from || one.serial >= 2 * to - from
    if (!isOver && (isUnclear || countFailed(heard) > 0)) return
    this.trial = undefined
    if (isUnclear) return
    const share = shareOf(heard)
    if (share > 1.5 * expected && share < 0.9) {
      this.#begin(heard, last, now)
      return
    }
    if (share < 0.4 * expected) this.#found = this.share > 0 ? share : 0
    else if (share < 0.9) this.#found = ((this.#found > 0 ? this.#found : expected) + share) / 2
    if (this.share === 0) this.#seen = this.#found
    this.share = Math.min(this.#seen, this.#found)
    this.#store = 8
    this.highest = C
    this.#restUntil = now + Math.min(60, 20 * (now - beganAt))
  }
}

function shareOf(heard: readonly Heard[]): number {
  return countFailed(heard) / heard.length
}

function countFailed(heard: readonly Heard[]): number {
  return heard.filter(({ failed }) => failed).length
}
