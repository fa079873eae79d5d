import type { IKeyValue } from 'etcd3'
import type { Log } from '../observe/notices.js'
import type { ResourceRepository } from '../server/index.js'
import { type EtcdPlace, Pause, WatchedKey } from './watched-key.js'

/** A candidate of the election: a `DoormanServer` is one. */
interface Candidate {
  won(how: { afterNobody: boolean; before: string | undefined }): void
  leaseRecord(about?: { before?: string | undefined; repository?: ResourceRepository; within?: number }): string
  lost(master?: string): void
  lockVanished(): void
  lockHolds(ms: number, sentMs: number): void
}

/** The addresses of a server. */
export interface Addresses {
  /** `host:port` of gRPC. */
  readonly grpc: string
  /** URL of HTTP/JSON, if it is served. */
  readonly http?: string
}

export interface EtcdElectionSettings {
  readonly candidate: Candidate
  readonly etcd: EtcdPlace
  /** The lock's key. */
  readonly lock: string
  /** Time for which the lock outlives a silent master. */
  readonly delaySeconds: number
  readonly addresses: Addresses
  /** Distinguishes this candidate from all others, including its own earlier runs. */
  readonly name: string
  /** The clock of the candidate: monotonic, and running while the process is stopped. */
  readonly clock: () => number
  readonly log: Log
}

/** The value of the lock's key. */
interface Holder extends Addresses {
  readonly name: string
}

/** Checks of the lock per delay; a master also renews it that often. */
const LOOKS_PER_DELAY = 3
/** Retries per delay after a first failure; the pause doubles with each, up to that between checks. */
const RETRIES_PER_DELAY = 20

/**
 * Elects one master on etcd v3: the server that creates the lock's key, bound to a lease, is the master until the key
 * is gone. The master renews the lease three times in each delay. It grants nothing once the lease may have expired by
 * its own clock, counted from the time at which the last answered renewal was sent. Candidates watch the key, record
 * when it vanishes, and campaign at once.
 *
 * A second, permanent key beside the lock records that the lock has been held, and how long the leases of its holders
 * may last: a first master need not learn, and a later one may have shorter leases than its predecessor.
 */
export class EtcdElection {
  readonly #settings: EtcdElectionSettings
  readonly #key: WatchedKey
  readonly #retryMs: number
  readonly #lookMs: number
  #holder: Holder | undefined
  /** Revision of the key that is followed. */
  #revision: string | undefined
  #lease: EtcdLease | undefined
  #isMaster = false
  /** The lock's value while this is the master: no other holder's is the same. */
  #holds = ''
  #campaigning: Promise<void> | undefined
  readonly #recording = new Pause()
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

  /** The addresses of the master, if known. */
  get master(): Addresses | undefined {
    return this.#isMaster && !this.#stopping ? this.#settings.addresses : this.#holder
  }

  /** The reason why etcd's last answer failed; `undefined` after a success. */
  get lastError(): string | undefined {
    return this.#lastError
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Stops campaigning. A master hands over: it grants nothing more, and releases the lock at once. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#isMaster) this.#settings.candidate.lost()
    this.#key.wake()
    this.#recording.wake()
    await this.#running
    await this.#lease?.revoke()
    this.#isMaster = false
    this.#key.close()
  }

  /**
   * Before this configuration comes into force: as the master, writes how long leases may last by it, where a successor
   * finds that. While etcd does not answer, it tries again. Rejects if the configuration is invalid.
   */
  async record(repository: ResourceRepository): Promise<void> {
    const { candidate, delaySeconds, log } = this.#settings
    // A campaign that has begun writes the lengths of the present configuration.
    await this.#campaigning?.catch(() => {})
    while (this.#isMaster && !this.#stopping) {
      // If the answer is lost, the old configuration stays until the lock has run out.
      const leases = candidate.leaseRecord({ repository, within: delaySeconds })
      if (leases === candidate.leaseRecord()) return
      try {
        await this.#key.use((etcd) =>
          etcd.if(this.#key.key, 'Value', '==', this.#holds).then(etcd.put(this.#heldKey).value(leases)).commit(),
        )
        return
      } catch (error) {
        log.warn({ error: String(error) }, 'etcd does not answer, the new configuration waits')
        await this.#recording.for(this.#retryMs)
      }
    }
  }

  get #pauseMs(): number {
    return Math.min(this.#lookMs, this.#retryMs * 2 ** (this.#key.failures - 1))
  }

  get #heldKey(): string {
    return `${this.#key.key}.held`
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      try {
        await (this.#isMaster ? this.#renew() : this.#follow())
        this.#lastError = undefined
        this.#key.recovered()
        if (!this.#stopping) await this.#key.changed(this.#lookMs)
      } catch (error) {
        const message = String(error)
        if (message !== this.#lastError)
          this.#settings.log.warn({ error: message, lock: this.#key.key }, 'etcd does not answer')
        this.#lastError = message
        if (!this.#stopping) await this.#key.changed(this.#pauseMs)
      }
    }
  }

  /** While not the master: follows the present one, and campaigns when there is none. */
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
      this.#campaigning = this.#campaign()
      await this.#campaigning
    } else if (kv.create_revision !== this.#revision) {
      this.#revision = kv.create_revision
      const holder = holderFrom(kv)
      // Our own name: the answer to a campaign was lost, and that lock will expire.
      this.#holder = holder?.name === name ? undefined : holder
      candidate.lost(this.#holder?.grpc)
      log.info({ master: this.#holder?.grpc }, 'somebody else is the master')
    }
  }

  async #campaign(): Promise<void> {
    const { candidate, delaySeconds, addresses, name, clock, log } = this.#settings
    const lock = this.#key.key
    const held = this.#heldKey
    const holder: Holder = { name, ...addresses }
    this.#holds = JSON.stringify(holder)
    const kept = await this.#key.use(async (etcd) => (await etcd.get(held).exec()).kvs[0])
    const before = kept?.value.toString()
    const sentMs = clock()
    const lease = await EtcdLease.grant(this.#key, delaySeconds)
    const leases = candidate.leaseRecord({ before })
    const { succeeded } = await this.#key.use((etcd) =>
      etcd
        .if(lock, 'Create', '==', 0)
        .and(held, 'Mod', '==', kept?.mod_revision ?? 0)
        .then(etcd.put(lock).value(this.#holds).lease(lease.id), etcd.put(held).value(leases))
        .commit(),
    )
    if (!succeeded || this.#stopping) {
      await lease.revoke()
      // The next check shows which one was first.
      this.#key.wake()
      return
    }
    const afterNobody = kept === undefined
    this.#lease = lease
    this.#isMaster = true
    candidate.won({ afterNobody, before })
    candidate.lockHolds(lease.seconds * 1_000, sentMs)
    log.info({ afterNobody }, 'this is the master')
  }

  /** As the master: renews the lock, and checks that it still holds it. */
  async #renew(): Promise<void> {
    const { candidate, clock, name } = this.#settings
    const lease = this.#lease!
    const sentMs = clock()
    const renewed = await lease.renew(this.#key.deadlineMs)
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

/** The key may hold any value. */
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
 * A lease of etcd: keys bound to it are deleted if it is not renewed in time. It outlives the connection on which it
 * was made.
 */
export class EtcdLease {
  readonly id: string
  /** The granted duration, which may exceed the requested one. */
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

  /** Restarts the lease's time at etcd. False: it has expired. Rejects if etcd does not answer within the deadline. */
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

  /** Deletes its keys at once. If etcd does not receive the call, they are deleted when the lease expires. */
  async revoke(): Promise<void> {
    await this.#key.use((etcd) => etcd.leaseClient.leaseRevoke({ ID: this.id })).catch(() => {})
  }
}
