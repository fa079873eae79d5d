import type { Log } from '../observe/log.js'
import type { ResourceRepository } from '../server/index.js'
import { parseAside } from './parse-aside.js'
import { repositoryOf } from './repository.js'
import type { ConfigSource } from './source.js'

/** What happens with a configuration that was read. */
export interface ConfigurationUser {
  /** Throws when something in it is wrong. */
  configure(repository: ResourceRepository): void
  counted(result: 'taken' | 'refused'): void
}

/**
 * A configuration that may change while it is used. What is new is read, checked as a whole, and taken; if anything is
 * wrong with it, the reason is logged, and the old one stays.
 */
export class Configuration {
  readonly #source: ConfigSource
  readonly #log: Log
  #text: string | undefined
  #unreadable: string | undefined
  #refused: string | undefined
  #closed = false
  #running: Promise<void> | undefined

  constructor(source: ConfigSource, log: Log) {
    this.#source = source
    this.#log = log
  }

  /** Why the newest one is not in force; `undefined` when it is. */
  get problem(): string | undefined {
    return this.#unreadable ?? this.#refused
  }

  /** The first one. Rejects when it cannot be had, or is wrong. */
  async first(): Promise<ResourceRepository> {
    const text = await this.#source.read()
    this.#text = text
    return repositoryOf(await parseAside(text))
  }

  /** From now on, hands what is new to `user`. */
  follow(user: ConfigurationUser): void {
    this.#running ??= this.#run(user)
  }

  /** Looks now. */
  reload(): void {
    this.#source.wake()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#source.close()
    await this.#running
  }

  async #run(user: ConfigurationUser): Promise<void> {
    while (!this.#closed) {
      await this.#source.changed()
      if (this.#closed) return
      try {
        const text = await this.#source.read()
        this.#unreadable = undefined
        if (text !== this.#text && !this.#closed) await this.#take(text, user)
      } catch (error) {
        const reason = String(error)
        if (reason !== this.#unreadable && !this.#closed)
          this.#log.error({ reason }, 'the configuration cannot be read, the old one stays')
        this.#unreadable = reason
      }
    }
  }

  async #take(text: string, user: ConfigurationUser): Promise<void> {
    this.#text = text
    try {
      const repository = repositoryOf(await parseAside(text))
      if (this.#closed) return
      user.configure(repository)
      this.#refused = undefined
      this.#log.info({}, 'a new configuration is in force')
      user.counted('taken')
    } catch (error) {
      this.#refused = String(error)
      this.#log.error({ reason: this.#refused }, 'the new configuration is refused, the old one stays')
      user.counted('refused')
    }
  }
}
