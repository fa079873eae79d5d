import { createHash, randomInt } from 'node:crypto'
import {
  type LeaseAnswer,
  type LeaseCall,
  leaseOn,
  type PoolRecord,
  type PoolStore,
  PoolStoreError,
  requireLease,
  type StoreFailureKind,
} from '@fairlead/core/escrow'
import { requireOptions } from '@fairlead/core/internal'

/** The method of a `Pool` or `Client` of the package `pg` that this store calls. */
export interface PostgresClient {
  /** Runs a statement; a named one is prepared once per connection. */
  query(statement: { name?: string; text: string; values?: unknown[] }): Promise<{ rows: unknown[] }>
}

/** Options of {@link PostgresPoolStore}. */
export interface PostgresPoolStoreOptions {
  /** A `Pool` or a connected `Client` of the package `pg`. It stays yours: the store never closes it. */
  client: PostgresClient
  /** Prefix of the names of both tables; letters, digits and underscores. @default 'fairlead' */
  prefix?: string
}

interface LoadedRow {
  now: number
  version: string | null
  win: string
  pool: string
  tenants: Record<string, string> | null
}

/** Attempts of a step that lost to another process before it fails: more indicate another fault. */
const MOST_ATTEMPTS = 200
/** Tenants of former windows that one step deletes. */
const MOST_DELETED = 128
const VERSIONS = 2 ** 48 - 1
/** Longest name in a key, in bytes: the two names in a row of an index may take 2704 together. */
const MOST_BYTES = 1_024
/** Longest wait of a lease for the one before it, whose query may never be answered. */
const MOST_WAIT_MS = 1_000

/**
 * Pools in Postgres, for a fleet: one row per pool, and one for each tenant that was reported by name, by Postgres's
 * own clock. {@link PostgresPoolStore.setUp} creates both tables.
 *
 * A lease takes two statements: one reads the pool and the tenants that the call names, the other writes them back
 * unless another process has written meanwhile; then the lease starts again. No lock is held in between, so a process
 * that stops or dies there blocks no other; a query that is never answered delays the pool's next lease in its process
 * by a second. The rule runs in the process, as for a pool in memory.
 *
 * Rejects with a `PoolStoreError`, whose `kind` gives the reason, and whose `cause` is the client's error. It sets no
 * deadline; the caller does.
 */
export class PostgresPoolStore implements PoolStore {
  readonly #client: PostgresClient
  readonly #prefix: string
  readonly #load: string
  readonly #save: string
  /** The last lease of each pool: this process runs them one after the other. */
  readonly #last: Map<string, Promise<unknown>> = new Map()

  constructor(options: PostgresPoolStoreOptions) {
    requireOptions('PostgresPoolStore', options, ['client', 'prefix'])
    const { client, prefix = 'fairlead' } = options
    if (typeof client?.query !== 'function') throw new TypeError('client must be a Pool or a Client of the package pg')
    if (typeof prefix !== 'string' || !/^[a-z_][a-z0-9_]{0,40}$/i.test(prefix))
      throw new TypeError(`prefix must be letters, digits and underscores, 41 at most, got ${JSON.stringify(prefix)}`)
    this.#client = client
    this.#prefix = prefix
    const [pools, tenants] = [`"${prefix}_pools"`, `"${prefix}_tenants"`]
    this.#load = `
      SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now, p.version, p.win, p.pool,
        (SELECT json_object_agg(t.tenant, t.record) FROM unnest($2::text[]) AS n (tenant)
          CROSS JOIN LATERAL (SELECT * FROM ${tenants} t WHERE t.key = $1 AND t.tenant = n.tenant LIMIT 1) AS t
          WHERE t.win >= p.win - 1) AS tenants
      FROM (SELECT) AS one LEFT JOIN ${pools} p ON p.key = $1`
    this.#save = `
      WITH saved AS (
        INSERT INTO ${pools} AS p (key, version, win, pool) VALUES ($1, $2, $4, $5)
        ON CONFLICT (key) DO UPDATE SET version = $2, win = $4, pool = $5 WHERE p.version = $3
        RETURNING 1
      ), named AS (
        INSERT INTO ${tenants} AS t (key, tenant, win, record)
        SELECT $1, tenant, $4, record FROM unnest($6::text[], $7::text[]) AS n (tenant, record)
        WHERE EXISTS (SELECT FROM saved)
        ON CONFLICT (key, tenant) DO UPDATE SET win = excluded.win, record = excluded.record
      ), old AS (
        DELETE FROM ${tenants} WHERE ctid = ANY (ARRAY (
          SELECT ctid FROM ${tenants}
          WHERE key = $1 AND win < $4 - 1 AND tenant <> ALL ($6::text[]) AND EXISTS (SELECT FROM saved)
          ORDER BY key, win LIMIT ${MOST_DELETED}
        ))
      )
      SELECT FROM saved`
  }

  /**
   * Creates the tables unless they exist. They are unlogged: a Postgres that crashes, or a replica that takes over,
   * loses the pools, and their members report them again.
   */
  async setUp(): Promise<void> {
    const [pools, tenants] = [`"${this.#prefix}_pools"`, `"${this.#prefix}_tenants"`]
    await this.#query(
      undefined,
      `
      CREATE UNLOGGED TABLE IF NOT EXISTS ${pools} (
        key text PRIMARY KEY, version bigint NOT NULL, win bigint NOT NULL, pool text NOT NULL
      ) WITH (fillfactor = 50);
      CREATE UNLOGGED TABLE IF NOT EXISTS ${tenants} (
        key text, tenant text, win bigint NOT NULL, record text NOT NULL, PRIMARY KEY (key, tenant)
      );
      CREATE INDEX IF NOT EXISTS "${this.#prefix}_tenants_win" ON ${tenants} (key, win);`,
    )
  }

  /** The key of a pool in both tables; a digest if the name is long. */
  keyOf(name: string, windowMs: number): string {
    return keyOf([name, windowMs])
  }

  async lease(call: LeaseCall): Promise<LeaseAnswer> {
    requireLease(call)
    const { name, windowMs } = call.pool
    const key = this.keyOf(name, windowMs)
    const answer = this.#leaseAfter(this.#last.get(key), key, call)
    const done = answer.catch(() => {})
    this.#last.set(key, done)
    try {
      return await answer
    } finally {
      if (this.#last.get(key) === done) this.#last.delete(key)
    }
  }

  async #leaseAfter(before: Promise<unknown> | undefined, key: string, call: LeaseCall): Promise<LeaseAnswer> {
    if (before !== undefined) await untilDone(before)
    const names = new Map(call.tenants.map(({ tenant }) => [keyOf(tenant), tenant]))
    const named = [...names.keys()]
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const [row] = (await this.#query('load', this.#load, [key, named])) as LoadedRow[]
      if (row === undefined) throw new PoolStoreError('not-a-client', 'the client answered a query with no row')
      const { answer, record } = leaseOn(recordOf(row, names), call, row.now)
      const version = randomInt(1, VERSIONS)
      const [tenants, records] = [[...record.tenants.keys()].map(keyOf), [...record.tenants.values()]]
      const values = [key, version, row.version ?? 0, record.win, record.pool, tenants, records]
      if ((await this.#query('save', this.#save, values)).length > 0) return answer
    }
    throw new PoolStoreError('other', `other processes were faster ${MOST_ATTEMPTS} times`)
  }

  async #query(step: string | undefined, text: string, values?: unknown[]): Promise<unknown[]> {
    try {
      const reply: unknown = await this.#client.query(
        step === undefined ? { text } : { name: `${this.#prefix} ${step}`, text, values: values! },
      )
      if (Array.isArray(reply)) return []
      const { rows } = reply as { rows?: unknown }
      if (!Array.isArray(rows))
        throw new PoolStoreError('not-a-client', `the client answered a query with ${typeof rows}, not with rows`)
      return rows
    } catch (error) {
      throw storeError(error)
    }
  }
}

/**
 * A name as a key: as JSON, because it may contain characters that Postgres rejects in text; as a digest if that is too
 * long for an index. A digest never equals a JSON text.
 */
function keyOf(name: unknown): string {
  const text = JSON.stringify(name)
  if (Buffer.byteLength(text) <= MOST_BYTES) return text
  return `sha256 ${createHash('sha256').update(text).digest('hex')}`
}

/** Waits for the previous lease, to avoid lost attempts; compare and set is safe without that. */
async function untilDone(before: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, MOST_WAIT_MS)
  })
  await Promise.race([before, late])
  clearTimeout(timer)
}

function recordOf(
  { version, win, pool, tenants }: LoadedRow,
  names: ReadonlyMap<string, string>,
): PoolRecord | undefined {
  if (version === null) return undefined
  const named = Object.entries(tenants ?? {}).map(([key, record]) => [names.get(key)!, record] as const)
  return { win: Number(win), pool, tenants: new Map(named) }
}

/** Classes of SQLSTATE, and the system's error codes. */
const BY_CODE: readonly [RegExp, StoreFailureKind][] = [
  [/^(42P01|42703|42804|42809|22P02)$/, 'wrong-type'],
  [/^(42501|28...|25006)$/, 'no-permission'],
  [/^(53100|53200|54000)$/, 'out-of-memory'],
  [/^(57014|25P03|ETIMEDOUT)$/, 'timeout'],
  [/^(08...|57P..|53300|E[A-Z_]+)$/, 'network'],
]

/** Classifies a failure by the client's error. */
function storeError(error: unknown): PoolStoreError {
  if (error instanceof PoolStoreError) return error
  const { message, code } = error instanceof Error ? (error as Error & { code?: unknown }) : { message: '', code: '' }
  const said = message || String(error)
  const isGone = /timeout/i.test(said) ? 'timeout' : /connection|terminated|closed/i.test(said) ? 'network' : 'other'
  const kind = BY_CODE.find(([pattern]) => pattern.test(String(code)))?.[1] ?? isGone
  return new PoolStoreError(kind, said, { cause: error })
}
