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

/**
 * A key in etcd, that somebody looks at again whenever it changes; and at times without that, because a network that is
 * cut says nothing. A connection that failed is thrown away, and the next look makes a new one.
 */
export class WatchedKey {
  readonly key: string
  readonly #place: EtcdPlace
  readonly #deadlineMs: number
  readonly #pause = new Pause()
  #open: { etcd: Etcd3; watcher: Watcher } | undefined
  #closings = 0

  /** `deadlineMs`: longest wait for an answer. */
  constructor(place: EtcdPlace, key: string, deadlineMs: number) {
    this.#place = place
    this.key = key
    this.#deadlineMs = deadlineMs
  }

  /** What it holds now. Rejects within the deadline. */
  async read(): Promise<IKeyValue | undefined> {
    return this.use(async (etcd) => (await etcd.get(this.key).exec()).kvs[0])
  }

  /** A call of another kind on the same connection; one that fails ends the connection. */
  async use<T>(call: (etcd: Etcd3) => Promise<T>): Promise<T> {
    const closings = this.#closings
    // Half of a server's start, which only a server that uses etcd pays.
    const client = await import('etcd3')
    if (closings !== this.#closings) throw new Error('the connection to etcd was closed')
    this.#open ??= this.#connect(client.Etcd3)
    const { etcd } = this.#open
    try {
      return await call(etcd)
    } catch (error) {
      if (this.#open?.etcd === etcd) this.#disconnect()
      throw error
    }
  }

  /** Fulfilled when it may have changed, and after `ms` milliseconds in any case. */
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
      defaultCallOptions: ({ isStream }) => (isStream ? {} : { deadline: Date.now() + this.#deadlineMs }),
      // Else the next connection is the same one again.
      grpcOptions: { 'grpc.use_local_subchannel_pool': 1 },
    })
    const watcher = etcd.watch().key(this.key).watcher()
    const wake = (): void => this.#pause.wake()
    watcher.on('put', wake).on('delete', wake).on('connected', wake).on('error', wake)
    return { etcd, watcher }
  }

  #disconnect(): void {
    const open = this.#open
    this.#open = undefined
    // Without this the watcher would try for ever.
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

/** Waits for a time, or until it is woken. To be woken between two waits ends the second at once: nothing is missed. */
export class Pause {
  #woken = false
  #end: (() => void) | undefined

  wake(): void {
    this.#woken = true
    this.#end?.()
  }

  /** Fulfilled after `ms` milliseconds, or as soon as somebody wakes it. One at a time. */
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
