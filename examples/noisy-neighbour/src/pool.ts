import { setTimeout as sleep } from 'node:timers/promises'
import { createPool, type Pool } from 'generic-pool'
import { ExhaustedError, type Resource } from './resource.js'

export interface PoolOptions {
  /** Connections, all open from the start. */
  readonly connections: number
  /** Requests that may wait for one; the next is turned away at once. */
  readonly line: number
  /** How long one may wait. */
  readonly acquireTimeoutMs: number
  /** How long a query holds its connection. */
  readonly queryMs: () => number
}

/**
 * A small database: 30 connections and 80 to 120 ms a query make about 300 queries a second. A query that finds 60 in
 * line fails; a full line is 200 ms long.
 */
export const DATABASE: PoolOptions = {
  connections: 30,
  line: 60,
  acquireTimeoutMs: 500,
  queryMs: () => 80 + 40 * Math.random(),
}

/**
 * Stands in for a database. The pool is a real one; only the query is a pause, because what matters here is that it
 * holds a connection. Resolves when all connections are open.
 */
export async function openDatabase({ connections, line, acquireTimeoutMs, queryMs }: PoolOptions): Promise<Resource> {
  let opened = 0
  const pool: Pool<number> = createPool(
    { create: async () => ++opened, destroy: async () => {} },
    { min: connections, max: connections, maxWaitingClients: line, acquireTimeoutMillis: acquireTimeoutMs },
  )
  await pool.ready()
  return {
    async use() {
      const connection = await pool.acquire().catch((cause: unknown) => {
        throw new ExhaustedError('no free connection', { cause })
      })
      try {
        await sleep(queryMs())
      } finally {
        await pool.release(connection)
      }
    },
    snapshot: () => ({ connections: pool.size, busy: pool.borrowed, waiting: pool.pending }),
  }
}
