import { type LeaseCall, leaseOn, type PoolRecord, requireLease } from '@fairlead/core/escrow'

/** The rows that a statement returns. */
export interface SqlRows {
  /** All rows. */
  toArray(): Record<string, unknown>[]
}

/** The part of a Durable Object's context that a pool uses: its storage, which must be of the SQLite kind. */
export interface DurableObjectContext {
  /** The object's own storage. */
  readonly storage: {
    readonly sql: {
      /** Runs a statement; `toArray` returns its rows. */
      exec(query: string, ...bindings: (string | number)[]): SqlRows
    }
    /** Runs `step` as one transaction. */
    transactionSync<Result>(step: () => Result): Result
  }
}

/** Tenants of former windows that one step deletes. */
const MOST_DELETED = 128

/**
 * A Durable Object that is one escrow pool: a {@link DurableObjectPoolStore} calls it. Export it from your worker, and
 * bind it as a class with SQLite storage. Its state lives in that storage, one row for the pool and one for each tenant
 * that was reported by name, so it survives eviction, migration and new deployments.
 */
export class EscrowPool {
  readonly #context: DurableObjectContext

  constructor(context: DurableObjectContext) {
    this.#context = context
    const { sql } = context.storage
    sql.exec('CREATE TABLE IF NOT EXISTS pool (id INTEGER PRIMARY KEY, win INTEGER, pool TEXT)')
    sql.exec('CREATE TABLE IF NOT EXISTS tenants (tenant TEXT PRIMARY KEY, win INTEGER, record TEXT)')
    sql.exec('CREATE INDEX IF NOT EXISTS tenants_win ON tenants (win)')
  }

  /** Answers a lease call, JSON both ways; 400 for an invalid call. */
  async fetch(request: Request): Promise<Response> {
    const call = (await request.json()) as LeaseCall
    try {
      requireLease(call)
    } catch (error) {
      return new Response(String(error), { status: 400 })
    }
    return Response.json(this.#context.storage.transactionSync(() => this.#lease(call)))
  }

  #lease(call: LeaseCall): object {
    const { sql } = this.#context.storage
    const [row] = sql.exec('SELECT win, pool FROM pool').toArray()
    const { answer, record } = leaseOn(row === undefined ? undefined : this.#recordOf(row, call), call, Date.now())
    sql.exec('INSERT OR REPLACE INTO pool VALUES (0, ?, ?)', record.win, record.pool)
    for (const [tenant, text] of record.tenants)
      sql.exec('INSERT OR REPLACE INTO tenants VALUES (?, ?, ?)', JSON.stringify(tenant), record.win, text)
    sql.exec(
      'DELETE FROM tenants WHERE rowid IN (SELECT rowid FROM tenants WHERE win < ? LIMIT ?)',
      record.win - 1,
      MOST_DELETED,
    )
    return answer
  }

  #recordOf(row: Record<string, unknown>, call: LeaseCall): PoolRecord {
    const win = Number(row['win'])
    const tenants = new Map<string, string>()
    for (const { tenant } of call.tenants) {
      const query = 'SELECT record FROM tenants WHERE tenant = ? AND win >= ?'
      const [kept] = this.#context.storage.sql.exec(query, JSON.stringify(tenant), win - 1).toArray()
      if (kept !== undefined) tenants.set(tenant, String(kept['record']))
    }
    return { win, pool: String(row['pool']), tenants }
  }
}
