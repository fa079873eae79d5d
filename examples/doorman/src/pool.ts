import { setTimeout as pause } from 'node:timers/promises'

/** Simulates a database with a limited number of connections: it refuses further queries. */
export class Pool {
  readonly size: number
  inUse = 0
  most = 0
  refused = 0

  constructor(size: number) {
    this.size = size
  }

  /** A query that takes `ms` milliseconds. */
  async query(ms: number): Promise<{ rows: number }> {
    if (this.inUse >= this.size) {
      this.refused++
      throw new Error('too many connections')
    }
    this.inUse++
    this.most = Math.max(this.most, this.inUse)
    try {
      await pause(ms)
      return { rows: 1 }
    } finally {
      this.inUse--
    }
  }
}
