/** A repeated task: runs at `at`, which it advances. */
export interface Thread {
  at: number
  run(now: number): void
}

interface Action {
  at: number
  run(): void
}

/**
 * The published simulation's time: whole seconds. In each second, first the actions of that second, in the order of
 * their scheduling, then the threads that are due, in the order of their creation; a thread that is due again
 * immediately waits for the actions of that second.
 */
export class Timeline {
  #now = 0
  #actions: Action[] = []
  readonly #threads: Thread[] = []
  readonly #looked: () => void

  /** `looked` is called after every event. */
  constructor(looked: () => void) {
    this.#looked = looked
  }

  get now(): number {
    return this.#now
  }

  /** Runs `run` in `seconds`, after actions scheduled earlier for the same time. */
  after(seconds: number, run: () => void): void {
    this.#actions.push({ at: this.#now + seconds, run })
  }

  every(seconds: number, run: () => void): void {
    const again = (): void => {
      this.after(seconds, again)
      run()
    }
    this.after(seconds, again)
  }

  add(thread: Thread): void {
    this.#threads.push(thread)
  }

  /** Runs up to and including `seconds`. */
  run(seconds: number): void {
    for (const _ of this.#happenings(seconds)) this.#looked()
  }

  /** The same for promises: `settled` waits until all consequences of an event have happened. */
  async runSettling(seconds: number, settled: () => Promise<void>): Promise<void> {
    await settled()
    for (const _ of this.#happenings(seconds)) {
      await settled()
      this.#looked()
    }
  }

  /** Executes one event after the other. */
  *#happenings(seconds: number): Generator<void> {
    while (this.#now < seconds) {
      this.#now = Math.min(seconds, this.#next())
      yield* this.#dueActions()
      for (const thread of this.#threads)
        if (thread.at <= this.#now) {
          thread.run(this.#now)
          yield
        }
    }
  }

  *#dueActions(): Generator<void> {
    const due = this.#actions.filter(({ at }) => at <= this.#now)
    if (due.length === 0) return
    this.#actions = this.#actions.filter(({ at }) => at > this.#now)
    for (const action of due) {
      action.run()
      yield
    }
  }

  #next(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { at } of this.#actions) next = Math.min(next, at)
    for (const { at } of this.#threads) next = Math.min(next, at)
    return next
  }
}
