import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type EtcdPlace, Pause, WatchedKey } from '../etcd/watched-key.js'
import type { Log } from '../observe/notices.js'
import type { ResourceRepository } from '../server/index.js'
import { repositoryOf } from './repository.js'

/** The user of a configuration. */
export interface ConfigurationUser {
  /** Throws or rejects if the configuration is invalid. */
  configure(repository: ResourceRepository): void | Promise<void>
  counted(result: 'taken' | 'refused'): void
}

/**
 * A configuration that may change while it is in use. A new one is read, checked as a whole, and applied; if it is
 * invalid, the reason is logged, and the old one stays.
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

  /** The reason why the newest configuration is not in force; `undefined` if it is. */
  get problem(): string | undefined {
    return this.#unreadable ?? this.#refused
  }

  /** Reads the first configuration. Rejects if it cannot be read, or is invalid. */
  async first(): Promise<ResourceRepository> {
    const text = await this.#source.read()
    this.#text = text
    return repositoryOf(await parseAside(text))
  }

  /** Hands each new configuration to `user` from now on. */
  follow(user: ConfigurationUser): void {
    this.#running ??= this.#run(user)
  }

  /** Checks for a change now. */
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
      // Parsing and checking a thousand entries take some milliseconds each: other calls are answered in between.
      await setImmediate()
      if (this.#closed) return
      await user.configure(repository)
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

/** The source of a configuration's text. */
export interface ConfigSource {
  /** The present text. Rejects if it cannot be read. */
  read(): Promise<string>
  /** Fulfilled when the text may have changed, and after a while in any case. */
  changed(): Promise<void>
  /** Ends the wait for a change: one is known. */
  wake(): void
  /** Ends the wait, and releases everything. */
  close(): void
}

/**
 * Polling interval of a file. Watching its directory does not suffice: the path may be a chain of links, as in
 * Kubernetes.
 */
const FILE_LOOK_MS = 500
/** Polling interval of a key that is also watched. */
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
      key.recovered()
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

/** Resolved here, because the worker gets its program as text, without a folder. */
const YAML = createRequire(import.meta.url).resolve('yaml')
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads')
try {
  parentPort.postMessage({ document: require(workerData.yaml).parse(workerData.text) })
} catch (error) {
  parentPort.postMessage({ reason: String(error) })
}`

/**
 * Parses YAML in a worker thread: a thousand entries take a third of a second, which would block all calls. Rejects
 * with an error that names the fault.
 */
export function parseAside(text: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    // Without the flags of this process: some of them change how a program given as text is parsed.
    const worker = new Worker(PROGRAM, { eval: true, execArgv: [], workerData: { text, yaml: YAML } })
    worker.once('message', ({ document, reason }: { document?: unknown; reason?: string }) => {
      if (reason === undefined) resolve(document)
      else reject(new SyntaxError(reason))
    })
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the configuration was not read to its end')))
  })
}
