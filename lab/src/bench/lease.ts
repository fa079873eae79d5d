// Redis's own time for one lease of a pool that knows 10 000 tenants: least and median of 100 leases, by the number of
// processes. Each lease names as many tenants as it may in such a pool. They are active in every process, or each of
// the 10 000 in one.
import { type LeaseCall, type PoolMark, poolTerms, type TenantReport } from '@fairlead/core/escrow'
import { seededRandom } from '@fairlead/core/testing'
import { RedisPoolStore } from '@fairlead/redis'
import { startRedis } from '@fairlead-testing/servers'
import { createClient } from 'redis'
import { printTable } from './table.js'

const TENANTS = 10_000
const LEASES = 100
/** Processes, and the number of tenants that a lease names among them. */
const POOLS = [
  [4, 64],
  [25, 40],
  [64, 15],
  [200, 8],
] as const
const POOL = poolTerms({ name: 'lease', limit: 1_000_000, windowMs: 3_600_000 })
const FIRST = { epoch: 0, rev: 0, total: 0, ahead: 0, members: 0 }

interface Member {
  readonly member: string
  seq: number
  win: number
  holds: number
  mark: PoolMark
}

const server = await startRedis()
const client = createClient({ url: server.url })
await client.connect()
const store = new RedisPoolStore({ client })

async function lease(member: Member, tenants: readonly TenantReport[], need = 0): Promise<void> {
  const quiet = { weight: 1, used: 0 }
  const call: LeaseCall = { pool: POOL, ...member, seq: ++member.seq, spent: 0, quiet, tenants, need }
  const { win, mark, grant } = await store.lease(call)
  Object.assign(member, { win, mark, holds: member.holds + grant })
}

/** Microseconds that Redis has spent on scripts. */
async function spentUs(): Promise<number> {
  return Number(/cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(await client.info('commandstats'))![1])
}

const rows: string[][] = []
for (const [processes, named] of POOLS)
  for (const isEverywhere of [true, false]) {
    await client.flushAll()
    const random = seededRandom(1)
    /** A third of them was refused, a tenth of these more than its part of the limit. */
    const report = (at: number): TenantReport => {
      const ask = random() < 1 / 3 ? (random() < 0.1 ? 400 : 1 + 9 * random()) : 0
      const used = 400 * random() * random()
      return { tenant: `tenant-${at}`, weight: 1 + Math.floor(3 * random()), used, rate: 1 + 99 * random(), ask }
    }
    const reports = (from: number, count: number): TenantReport[] =>
      Array.from({ length: Math.min(count, TENANTS - from) }, (_, at) => report(from + at))
    const members: Member[] = Array.from({ length: processes }, (_, at) => ({
      ...{ member: `m${at}`, seq: 0, win: -1, holds: 0, mark: FIRST },
    }))
    for (const member of members) await lease(member, isEverywhere ? reports(0, named) : [])
    for (let from = 0; from < TENANTS; from += 64) await lease(members[(from / 64) % processes]!, reports(from, 64))
    const times: number[] = []
    for (let time = 0; time < LEASES; time++) {
      const member = Math.floor(random() * processes)
      const from = isEverywhere ? 0 : 64 * (member + processes * Math.floor((random() * TENANTS) / 64 / processes))
      const asked = reports(Math.min(from, TENANTS - named), named)
      const before = await spentUs()
      await lease(members[member]!, asked, 50)
      times.push((await spentUs()) - before)
    }
    times.sort((a, b) => a - b)
    const figures = [times[0]!, times[LEASES >> 1]!].map((us) => (us / 1_000).toFixed(1))
    rows.push([`${processes}`, `${named}`, isEverywhere ? 'every process' : 'one process', ...figures])
  }
printTable(['processes', 'named', 'tenants are active in', 'least ms', 'median ms'], rows)
client.destroy()
await server.stop()
