import type { WatchedKey } from './watched-key.js'

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
