import { setTimeout as sleep } from 'node:timers/promises'
import { createPool, type Pool } from 'generic-pool'
import { ExhaustedError, type Resource } from './resource.js'

export interface PoolOptions {
  /** Connections, all open from the start. */
  readonly connections: number
  /** Most requests that wait for a connection; the next one is turned away at once. */
  readonly line: number
  /** Longest wait for a connection, in milliseconds. */
  readonly acquireTimeoutMs: number
  /** Duration of a query, in milliseconds. */
  readonly queryMs: () => number
}

/**
 * A small database: 30 connections and 80 to 120 ms a query make about 300 queries a second. A query that finds 60
 * waiting fails; a full queue takes 200 ms.
 */
export const DATABASE: PoolOptions = {
  connections: 30,
  line: 60,
  acquireTimeoutMs: 500,
  queryMs: () => 80 + 40 * Math.random(),
}

/**
 * A stand-in for a database. The pool is a real one; only the query is simulated by a pause, because the demonstration
 * only needs it to hold a connection. Resolves when all connections are open.
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
