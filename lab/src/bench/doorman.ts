import { type CapacityService, DoormanClient, inProcess } from '@fairlead/core/doorman'
import { type Cost, costOf } from './measure.js'
import { printTable } from './table.js'

/**
 * Cost of a permit to a client that holds a lease: no server is asked, and there is no contention. Beside it the lower
 * bound: the two clocks, one of which is read for each permit, and the other for the lease's end.
 */
const HOUR_S = 3_600

/** Grants the given capacity for an hour. */
function granting(capacity: number): CapacityService {
  const expiryTime = Math.ceil(Date.now() / 1_000) + HOUR_S
  return {
    discovery: () => ({ mastership: {}, isMaster: true }),
    getCapacity: ({ resource }) => ({
      response: resource.map(({ resourceId }) => ({
        resourceId,
        gets: { expiryTime, refreshInterval: HOUR_S, capacity },
      })),
    }),
    getServerCapacity: () => ({ response: [] }),
    releaseCapacity: () => ({}),
  }
}

const PLENTY = 1e15
const names = ['r']
const clients: DoormanClient[] = []

async function clientOf(capacity: number): Promise<DoormanClient> {
  const client = new DoormanClient({ transport: inProcess(granting(capacity)) })
  clients.push(client)
  // The first answer.
  const first = client.rate('first', { wants: 1 })
  if (capacity !== 0) await first.wait()
  return client
}

/** A lease that has received its capacity. */
async function leased<T extends { onChange(listener: () => void): () => void }>(lease: T): Promise<T> {
  await new Promise<void>((resolve) => {
    const stop = lease.onChange(() => {
      stop()
      resolve()
    })
  })
  return lease
}

const client = await clientOf(PLENTY)
const measured = await leased(client.rate('measured'))
const given = await leased(client.rate('given', { wants: 1_000 }))
const smooth = await leased(client.rate('smooth', { wants: 1_000, smooth: true }))
const unlimited = await leased((await clientOf(-1)).rate('unlimited'))
const gauge = await leased(client.gauge('gauge'))
const none = (await clientOf(0)).rate('none')

const rows: [string, Cost][] = [
  ['performance.now() and Date.now()', await costOf(() => performance.now() + Date.now(), names)],
  ['rate.tryTake()', await costOf(() => measured.tryTake(), names)],
  ['rate.tryTake(), wants given', await costOf(() => given.tryTake(), names)],
  ['rate.tryTake(), smooth', await costOf(() => smooth.tryTake(), names)],
  ['rate.tryTake(), unlimited', await costOf(() => unlimited.tryTake(), names)],
  ['rate.tryTake(), refused', await costOf(() => none.tryTake(), names)],
  ['await rate.wait()', await costOf(() => measured.wait(), names)],
  [
    'gauge.tryTake() and release()',
    await costOf(() => {
      gauge.tryTake()
      gauge.release(1)
    }, names),
  ],
]

printTable(
  ['a local permit', 'ns', 'ns p99', 'bytes allocated'],
  rows.map(([name, { ns, p99, bytes }]) => [name, ns.toFixed(0), p99.toFixed(0), bytes.toFixed(1)]),
)
for (const each of clients) await each.close()
