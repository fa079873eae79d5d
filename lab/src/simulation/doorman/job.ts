import type { Chance } from './chance.js'

/** A server of a job. Only one at a time is the master. */
export interface Task {
  /** `vanishedAt` is when the last master's lock was seen to disappear; absent if there never was one. */
  win(now: number, vanishedAt: number | undefined): void
  lose(now: number): void
}

const TASKS = 3

/** A node of the tree: three tasks, one of which is the master most of the time. */
export class Job<T extends Task> {
  readonly name: string
  readonly level: number
  readonly parent: Job<T> | undefined
  readonly tasks: readonly T[]
  readonly #chance: Chance
  #master: T | undefined
  #vanishedAt: number | undefined

  constructor(name: string, parent: Job<T> | undefined, chance: Chance, make: (job: Job<T>, task: number) => T) {
    this.name = name
    this.parent = parent
    this.level = parent === undefined ? 0 : parent.level + 1
    this.#chance = chance
    this.tasks = Array.from({ length: TASKS }, (_, task) => make(this, task))
  }

  get master(): T | undefined {
    return this.#master
  }

  /** Any task can win; if it already is the master, nothing happens. */
  elect(now: number): void {
    const winner = this.tasks[this.#chance.upTo(TASKS - 1)]!
    if (winner === this.#master) return
    this.loseMaster(now)
    this.#master = winner
    winner.win(now, this.#vanishedAt)
  }

  loseMaster(now: number): void {
    if (this.#master === undefined) return
    this.#master.lose(now)
    this.#master = undefined
    this.#vanishedAt = now
  }
}
