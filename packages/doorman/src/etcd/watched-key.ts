import type { Etcd3, IKeyValue, IOptions, Watcher } from 'etcd3'
import type { ClientTls } from '../tls.js'

/** A server's identity for etcd: name and password, a certificate, or both; and the authorities that it trusts. */
export interface EtcdSecrets extends ClientTls {
  username?: string
  password?: string
}

/** The address of etcd, and the identity of the server that asks. */
export interface EtcdPlace {
  readonly endpoints: readonly string[]
  readonly secrets: EtcdSecrets | undefined
}

/** Most times its usual length that a call may take after failures. */
const MOST_PATIENCE = 3

/**
 * A key in etcd that is read again whenever it changes, and also at intervals, because a cut network reports nothing. A
 * failed connection is discarded, and the next read makes a new one.
 */
export class WatchedKey {
  readonly key: string
  readonly #place: EtcdPlace
  readonly #deadlineMs: number
  readonly #pause = new Pause()
  #open: { etcd: Etcd3; watcher: Watcher } | undefined
  #closings = 0
  #failures = 0

  /** `deadlineMs`: longest wait for an answer, on a connection that works. */
  constructor(place: EtcdPlace, key: string, deadlineMs: number) {
    this.#place = place
    this.key = key
    this.#deadlineMs = deadlineMs
  }

  /** Calls that failed since all went well. */
  get failures(): number {
    return this.#failures
  }

  /** Longest wait for an answer; more after failures. */
  get deadlineMs(): number {
    return this.#deadlineMs * Math.min(MOST_PATIENCE, 1 + this.#failures)
  }

  /** All is well: each service of etcd that is needed has answered, on a connection of its own. */
  recovered(): void {
    this.#failures = 0
  }

  /** The present value. Rejects within the deadline. */
  async read(): Promise<IKeyValue | undefined> {
    return this.use(async (etcd) => (await etcd.get(this.key).exec()).kvs[0])
  }

  /** Makes another call on the same connection; a failure ends the connection. */
  async use<T>(call: (etcd: Etcd3) => Promise<T>): Promise<T> {
    const closings = this.#closings
    // Takes half of a server's start-up time, so only servers that use etcd load it.
    const client = await import('etcd3')
    if (closings !== this.#closings) throw new Error('the connection to etcd was closed')
    this.#open ??= this.#connect(client.Etcd3)
    const { etcd } = this.#open
    try {
      return await call(etcd)
    } catch (error) {
      this.#failures++
      if (this.#open?.etcd === etcd) this.#disconnect()
      throw error
    }
  }

  /** Fulfilled when the value may have changed, and after `ms` milliseconds in any case. */
  changed(ms: number): Promise<void> {
    return this.#pause.for(ms)
  }

  /** Ends the wait for a change. */
  wake(): void {
    this.#pause.wake()
  }

  close(): void {
    this.#closings++
    this.#disconnect()
  }

  #connect(Client: typeof Etcd3): { etcd: Etcd3; watcher: Watcher } {
    const { endpoints, secrets } = this.#place
    const etcd = new Client({
      hosts: [...endpoints],
      ...(secrets === undefined ? {} : connectionOf(secrets)),
      // A first call also waits for the connection and its log-in, which may take longer than a call. If each attempt
      // ended as soon, no connection would ever be made, and the attempts would keep etcd busy.
      defaultCallOptions: ({ isStream }) => (isStream ? {} : { deadline: Date.now() + this.deadlineMs }),
      // Otherwise the next connection would share the failed channel.
      grpcOptions: { 'grpc.use_local_subchannel_pool': 1 },
    })
    const watcher = etcd.watch().key(this.key).watcher()
    const wake = (): void => {
      // A discarded watcher knows nothing new.
      if (this.#open?.etcd === etcd) this.#pause.wake()
    }
    watcher.on('put', wake).on('delete', wake).on('connected', wake).on('error', wake)
    return { etcd, watcher }
  }

  #disconnect(): void {
    const open = this.#open
    this.#open = undefined
    // Without this the watcher would retry for ever.
    open?.watcher.cancel().catch(() => {})
    open?.etcd.close()
  }
}

function connectionOf({ ca, cert, key, username, password }: EtcdSecrets): Partial<IOptions> {
  const [rootCertificate, certChain, privateKey] = [ca, cert, key].map((pem) => pem && Buffer.from(pem))
  return {
    ...(rootCertificate && {
      credentials: { rootCertificate, ...(certChain && privateKey && { certChain, privateKey }) },
    }),
    ...(username !== undefined && password !== undefined && { auth: { username, password } }),
  }
}

/** Waits for a time, or until it is woken. A wake-up between two waits ends the second at once, so none is missed. */
export class Pause {
  #woken = false
  #end: (() => void) | undefined

  wake(): void {
    this.#woken = true
    this.#end?.()
  }

  /** Fulfilled after `ms` milliseconds, or as soon as `wake` is called. One at a time. */
  async for(ms: number): Promise<void> {
    if (!this.#woken)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        this.#end = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    this.#end = undefined
    this.#woken = false
  }
}
