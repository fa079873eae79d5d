import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { limitStage, seededRandom } from '@fairlead/core/testing'
import { Cases, type ContractCase } from './cases.js'
import { HTTP2_KINDS, KINDS, visit } from './crowd-clients.js'
import type { AdapterHarness } from './harness.js'
import { Http2Client } from './http2-client.js'
import type { Rig, RigOptions } from './rig.js'
import { turns } from './turns.js'

const CROWD = 1_000
const AT_ONCE = 50
const SEED = 20_261
const TIMEOUT_MS = 300_000
/** Visits that closures of the last requests may still reference. */
const MOST_KNOWN = 20
/** Collections without progress after which no more will be found. */
const ROUNDS_IN_VAIN = 25

/**
 * Crowds of all kinds of clients, which leave at random moments: before the request was read, while it waits, while it
 * is handled, in the middle of the answer, between pipelined requests, on streams of one connection. Nothing may be
 * left behind: no permit, no waiting request, nothing in memory. And the process must log nothing: no unhandled
 * rejections, no warnings about accumulated listeners.
 */
export function crowdCases<Target extends readonly unknown[]>(harness: AdapterHarness<Target>): ContractCase[] {
  const cases = new Cases(harness)
  const { crowd = CROWD } = harness
  // A narrow gate, so that many of those that leave are waiting.
  const narrow = (): RigOptions<Target> => ({
    stages: [limitStage(20, { waiters: Number.MAX_SAFE_INTEGER })],
    timeoutMs: TIMEOUT_MS,
  })
  const kinds = Object.values(KINDS)
  cases.add(`${crowd} clients of ${kinds.length} kinds, who leave at random moments`, narrow, (rig) =>
    watched(rig, crowd, (client, random) => visit(rig.port, kinds[client % kinds.length]!, random)),
  )

  const start = harness.startHttp2?.bind(harness)
  if (start === undefined) return cases.all
  const overHttp2 = new Cases({ ...harness, start })
  const http2Kinds = Object.values(HTTP2_KINDS)
  overHttp2.add(
    `HTTP/2: ${crowd} streams of ${http2Kinds.length} kinds that are reset, or whose connection dies, at random moments`,
    narrow,
    (rig) =>
      watched(rig, Math.ceil(crowd / AT_ONCE), async (_, random) => {
        const client = await Http2Client.connect(rig.port)
        const streams = Array.from({ length: AT_ONCE }, (_, i) => http2Kinds[i % http2Kinds.length]!(client, random))
        // Streams that wait for an answer die with the connection.
        await Promise.race([Promise.all(streams), turns(random() * 200)])
        await client.leave()
      }),
  )
  return [...cases.all, ...overHttp2.all]
}

/**
 * Lets this number of clients come, some at once, waits until all are gone, and compares the gate, the probe, the
 * process and the memory.
 */
async function watched<Target extends readonly unknown[]>(
  rig: Rig<Target>,
  crowd: number,
  comes: (client: number, random: () => number) => Promise<void>,
): Promise<void> {
  const complaints: unknown[] = []
  const complain = (what: unknown): void => void complaints.push(what)
  process.on('warning', complain).on('unhandledRejection', complain)
  try {
    const random = seededRandom(SEED)
    let next = 0
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, crowd) }, async () => {
        while (next < crowd) await comes(next++, random)
      }),
    )
    // The server will find connections closed that it has not read by now.
    await turns(100)
    await rig.until('all have ended', () => rig.snapshot().inFlight + rig.snapshot().waiting === 0)
    await turns(1)
  } finally {
    process.off('warning', complain).off('unhandledRejection', complain)
  }
  const { admitted, refused, refusedBy, finished } = rig.snapshot()
  assert.deepEqual(complaints, [])
  assert.deepEqual(refusedBy, { 'gate:gone': refused })
  assert.equal(finished.success + finished.failure + finished.ignored, admitted)
  assert.deepEqual([rig.probe.outstanding, rig.probe.doubled], [0, 0])
  // Otherwise the moments of leaving were not random.
  for (const count of [refused, finished.success, finished.ignored])
    assert.ok(count >= (admitted + refused) / 100, `only ${count} of ${JSON.stringify({ refused, ...finished })}`)
  // A listener, a permit or a peer that is still referenced would reference its visit.
  const known = await stillKnown(rig.scenes.visits)
  assert.ok(known <= MOST_KNOWN, `${known} of ${rig.scenes.visits.length} requests are still known`)
}

/** Number of visits that survive garbage collection, once all closing is done. */
async function stillKnown(visits: readonly WeakRef<object>[]): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  let known = visits.length
  for (let inVain = 0; inVain < ROUNDS_IN_VAIN && known > MOST_KNOWN; ) {
    await turns(20)
    collect()
    const before = known
    known = visits.filter((visit) => visit.deref() !== undefined).length
    inVain = known < before ? 0 : inVain + 1
  }
  return known
}
