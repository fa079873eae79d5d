import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type EtcdPlace, Pause, WatchedKey } from '../etcd/watched-key.js'
import type { Log } from '../observe/notices.js'
import type { ResourceRepository } from '../server/index.js'
import { repositoryOf } from './repository.js'

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

  /** From now on, hands each new configuration to `user`. */
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
      // A thousand entries are some milliseconds of work in each of both: others are answered between them.
      await setImmediate()
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

/** Where the text of a configuration is. */
export interface ConfigSource {
  /** The text as it is now. Rejects when it cannot be had. */
  read(): Promise<string>
  /** Fulfilled when it may have changed, and after a while in any case. */
  changed(): Promise<void>
  /** Ends the wait for a change, because somebody knows of one. */
  wake(): void
  /** Ends the wait, and everything else. */
  close(): void
}

/** Between two looks at a file. Not by its directory: a path may be links to links, as those of Kubernetes are. */
const FILE_LOOK_MS = 500
/** Between two looks at a key that is watched as well. */
const KEY_LOOK_MS = 10_000
const ETCD_DEADLINE_MS = 5_000

/** `file:PATH`, just the path, or `etcd:KEY`. */
export function configSource(where: string, etcd: EtcdPlace): ConfigSource {
  if (where.startsWith('etcd:')) return inEtcd(new WatchedKey(etcd, where.slice(5), ETCD_DEADLINE_MS))
  return inFile(where.startsWith('file:') ? where.slice(5) : where)
}

function inFile(path: string): ConfigSource {
  const pause = new Pause()
  return {
    read: () => readFile(path, 'utf8'),
    changed: () => pause.for(FILE_LOOK_MS),
    wake: () => pause.wake(),
    close: () => pause.wake(),
  }
}

function inEtcd(key: WatchedKey): ConfigSource {
  return {
    async read() {
      const kv = await key.read()
      if (kv === undefined) throw new Error(`there is no key ${key.key} in etcd`)
      return kv.value.toString()
    },
    changed: () => key.changed(KEY_LOOK_MS),
    wake: () => key.wake(),
    close() {
      key.close()
      key.wake()
    },
  }
}

/** Resolved here, because a worker gets the text without its folder. */
const YAML = createRequire(import.meta.url).resolve('yaml')
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads')
try {
  parentPort.postMessage({ document: require(workerData.yaml).parse(workerData.text) })
} catch (error) {
  parentPort.postMessage({ reason: String(error) })
}`

/**
 * Reads YAML in a thread of its own: a thousand entries take a third of a second, in which nobody would be answered.
 * Rejects with an error that names the fault in it.
 */
export function parseAside(text: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    // Without the flags of this process: some of them say how a program given as text is to be read.
    const worker = new Worker(PROGRAM, { eval: true, execArgv: [], workerData: { text, yaml: YAML } })
    worker.once('message', ({ document, reason }: { document?: unknown; reason?: string }) => {
      if (reason === undefined) resolve(document)
      else reject(new SyntaxError(reason))
    })
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the configuration was not read to its end')))
  })
}
