import type { IKeyValue } from 'etcd3'
import type { Log } from '../observe/notices.js'
import { type EtcdPlace, WatchedKey } from './watched-key.js'

/** Who can be elected: a `DoormanServer` is such. */
interface Candidate {
  won(how: { afterNobody: boolean }): void
  lost(master?: string): void
  lockVanished(): void
  lockHolds(ms: number, sentMs: number): void
}

/** Where a server is found. */
export interface Addresses {
  /** `host:port` of gRPC. */
  readonly grpc: string
  /** URL of HTTP/JSON, if it is served. */
  readonly http?: string
}

export interface EtcdElectionSettings {
  readonly candidate: Candidate
  readonly etcd: EtcdPlace
  /** The key. */
  readonly lock: string
  /** How long the lock outlives a master that is silent. */
  readonly delaySeconds: number
  readonly addresses: Addresses
  /** Tells this candidate from all others, also from itself in an earlier life. */
  readonly name: string
  /** The clock of the candidate: monotonic, and running while the process does not. */
  readonly clock: () => number
  readonly log: Log
}

/** What the lock's key holds. */
interface Holder extends Addresses {
  readonly name: string
}

/** Looks at the lock in each delay, and tries to renew it before it runs out. */
const LOOKS_PER_DELAY = 3
/** After a failure. */
const RETRIES_PER_DELAY = 20

/**
 * Elects one master on etcd v3: who creates the lock's key, bound to a lease, is the master until the key goes. The
 * master renews the lease three times in each delay, and grants nothing from the moment on at which it may have run
 * out, counted by its own clock from when it sent the last renewal that was answered. Candidates watch the key, note
 * when they see it vanish, and try at once.
 *
 * A second key beside the lock, which stays, says that the lock has been held: a master after nobody need not learn.
 */
export class EtcdElection {
  readonly #settings: EtcdElectionSettings
  readonly #key: WatchedKey
  readonly #retryMs: number
  readonly #lookMs: number
  #holder: Holder | undefined
  /** Of the key that is followed. */
  #revision: string | undefined
  #lease: EtcdLease | undefined
  #isMaster = false
  #stopping = false
  #lastError: string | undefined
  #running: Promise<void> | undefined

  constructor(settings: EtcdElectionSettings) {
    const { etcd, lock, delaySeconds } = settings
    this.#settings = settings
    this.#lookMs = (delaySeconds * 1_000) / LOOKS_PER_DELAY
    this.#retryMs = (delaySeconds * 1_000) / RETRIES_PER_DELAY
    this.#key = new WatchedKey(etcd, lock, this.#lookMs)
  }

  /** Where the master is, as far as anybody knows. */
  get master(): Addresses | undefined {
    return this.#isMaster && !this.#stopping ? this.#settings.addresses : this.#holder
  }

  /** Why etcd did not answer the last time; `undefined` once it did. */
  get lastError(): string | undefined {
    return this.#lastError
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Stops campaigning; a master hands over: grants nothing more, and lets the lock go at once. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#isMaster) this.#settings.candidate.lost()
    this.#key.wake()
    await this.#running
    await this.#lease?.revoke()
    this.#isMaster = false
    this.#key.close()
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      try {
        await (this.#isMaster ? this.#renew() : this.#follow())
        this.#lastError = undefined
        if (!this.#stopping) await this.#key.changed(this.#lookMs)
      } catch (error) {
        const message = String(error)
        if (message !== this.#lastError)
          this.#settings.log.warn({ error: message, lock: this.#key.key }, 'etcd does not answer')
        this.#lastError = message
        if (!this.#stopping) await this.#key.changed(this.#retryMs)
      }
    }
  }

  /** Not the master: sees who is, and tries to be when nobody is. */
  async #follow(): Promise<void> {
    const { candidate, log, name } = this.#settings
    const kv = await this.#key.read()
    if (this.#stopping) return
    if (kv === undefined) {
      if (this.#revision !== undefined) {
        candidate.lockVanished()
        log.info({ lock: this.#key.key }, 'the lock has vanished')
      }
      this.#revision = undefined
      this.#holder = undefined
      await this.#campaign()
    } else if (kv.create_revision !== this.#revision) {
      this.#revision = kv.create_revision
      const holder = holderFrom(kv)
      // Our own name: the answer to a campaign was lost, and its lock will run out.
      this.#holder = holder?.name === name ? undefined : holder
      candidate.lost(this.#holder?.grpc)
      log.info({ master: this.#holder?.grpc }, 'somebody else is the master')
    }
  }

  async #campaign(): Promise<void> {
    const { candidate, delaySeconds, addresses, name, clock, log } = this.#settings
    const lock = this.#key.key
    const held = `${lock}.held`
    const holder: Holder = { name, ...addresses }
    const sentMs = clock()
    const lease = await EtcdLease.grant(this.#key, delaySeconds)
    const { succeeded, responses } = await this.#key.use((etcd) =>
      etcd
        .if(lock, 'Create', '==', 0)
        .then(etcd.get(held), etcd.put(lock).value(JSON.stringify(holder)).lease(lease.id), etcd.put(held).value('1'))
        .commit(),
    )
    if (!succeeded || this.#stopping) {
      await lease.revoke()
      // The next look shows which was faster.
      this.#key.wake()
      return
    }
    const afterNobody = responses[0]?.response_range.kvs.length === 0
    this.#lease = lease
    this.#isMaster = true
    candidate.won({ afterNobody })
    candidate.lockHolds(lease.seconds * 1_000, sentMs)
    log.info({ afterNobody }, 'this is the master')
  }

  /** The master: renews the lock, and makes sure that it is still its own. */
  async #renew(): Promise<void> {
    const { candidate, clock, name } = this.#settings
    const lease = this.#lease!
    const sentMs = clock()
    const renewed = await lease.renew(this.#lookMs)
    const kv = renewed ? await this.#key.read() : undefined
    if (this.#stopping) return
    if (kv !== undefined && holderFrom(kv)?.name === name) candidate.lockHolds(lease.seconds * 1_000, sentMs)
    else this.#lose()
  }

  #lose(): void {
    this.#isMaster = false
    this.#lease = undefined
    this.#revision = undefined
    this.#holder = undefined
    this.#settings.candidate.lost()
    this.#settings.log.warn({ lock: this.#key.key }, 'not the master any more')
    this.#key.wake()
  }
}

/** Anything may stand there. */
function holderFrom(kv: IKeyValue): Holder | undefined {
  try {
    const { name, grpc, http } = JSON.parse(kv.value.toString()) as { [field: string]: unknown }
    if (typeof name !== 'string' || typeof grpc !== 'string') return undefined
    return typeof http === 'string' ? { name, grpc, http } : { name, grpc }
  } catch {
    return undefined
  }
}

/**
 * A lease of etcd's: keys bound to it go when it is not renewed in time. Outlives the connection that it was made on.
 */
export class EtcdLease {
  readonly id: string
  /** As etcd grants it; it may grant a longer one than was asked for. */
  readonly seconds: number
  readonly #key: WatchedKey

  private constructor(key: WatchedKey, id: string, seconds: number) {
    this.#key = key
    this.id = id
    this.seconds = seconds
  }

  static async grant(key: WatchedKey, seconds: number): Promise<EtcdLease> {
    const { ID, TTL } = await key.use((etcd) => etcd.leaseClient.leaseGrant({ TTL: seconds }))
    return new EtcdLease(key, ID, Math.min(seconds, Number(TTL)))
  }

  /** Counts anew from now, at etcd. False: it has run out. Rejects when etcd does not answer within the deadline. */
  renew(deadlineMs: number): Promise<boolean> {
    return this.#key.use(async (etcd) => {
      const stream = await etcd.leaseClient.leaseKeepAlive({ deadline: Date.now() + deadlineMs })
      try {
        const { TTL } = await new Promise<{ TTL: string }>((resolve, reject) => {
          stream.on('data', resolve)
          stream.on('error', reject)
          stream.on('end', () => reject(new Error('etcd ended the renewal')))
          stream.write({ ID: this.id })
        })
        return TTL !== '0'
      } finally {
        stream.end()
      }
    })
  }

  /** Its keys go at once. If etcd does not hear of it, they go when the lease runs out. */
  async revoke(): Promise<void> {
    await this.#key.use((etcd) => etcd.leaseClient.leaseRevoke({ ID: this.id })).catch(() => {})
  }
}
