import assert from 'node:assert/strict'
import { limitStage } from '../limit-stage.js'
import { manualClock } from '../manual-clock.js'
import { seededRandom } from '../seeded-random.js'
import { Cases, type ContractCase } from './cases.js'
import { RawClient } from './client.js'
import type { AdapterHarness } from './harness.js'
import { Http2Client } from './http2-client.js'
import type { Rig, RigOptions } from './rig.js'
import { turns } from './turns.js'

const REQUESTS = 10_000
const AT_ONCE = 50
const SEED = 20_261
const TIMEOUT_MS = 120_000
const LEASE_MS = 60_000

/**
 * Crowds whose clients leave at random moments: before the request was read, while it waits, while it is handled, in
 * the middle of the answer, between pipelined requests, on streams of one connection. Nothing may be left behind, and
 * the process must not complain: neither of rejections that nobody handles nor of listeners that pile up.
 */
export function crowdCases<Target extends readonly unknown[]>(harness: AdapterHarness<Target>): ContractCase[] {
  const cases = new Cases(harness)
  // So narrow that many of those that leave are waiting.
  const narrow = (): RigOptions<Target> => ({ stages: [limitStage(20, { waiters: REQUESTS })], timeoutMs: TIMEOUT_MS })

  cases.add(`${REQUESTS} requests whose clients leave at random moments`, narrow, (rig) =>
    watched(rig, async () => {
      const random = seededRandom(SEED)
      for (let sent = 0; sent < REQUESTS; ) {
        const counts = await Promise.all(Array.from({ length: AT_ONCE }, () => visit(rig.port, random)))
        for (const count of counts) sent += count
      }
    }),
  )

  const start = harness.startHttp2?.bind(harness)
  if (start === undefined) return cases.all
  const overHttp2 = new Cases({ ...harness, start })
  const clock = manualClock()
  overHttp2.add(
    `HTTP/2: ${REQUESTS} streams that are reset, or whose connection dies, at random moments`,
    () => ({ ...narrow(), gate: { leaseMs: LEASE_MS, clock } }),
    (rig) =>
      watched(rig, async () => {
        const random = seededRandom(SEED)
        for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) await session(rig.port, random)
        // Node before 26 now and then never closes a stream that was written to while its client left, nor the
        // connection: about one in ten thousand. That is what leases are for.
        await rig.until('all but a few have ended', () => rig.snapshot().inFlight < 10)
        clock.advance(LEASE_MS)
        rig.gate.wake()
      }),
  )
  return [...cases.all, ...overHttp2.all]
}

/** A handler that takes some turns of the event loop, to its answer, its end or its failure. */
function anyPath(random: () => number): string {
  const scene = ['turns', 'slow-stream', 'late-throw'][Math.floor(random() * 3)]
  return `/${scene}/${Math.floor(random() * 20)}`
}

/** One connection: a request, or five in one packet; its client leaves after a while. Gives how many were sent. */
async function visit(port: number, random: () => number): Promise<number> {
  const client = await RawClient.connect(port)
  const count = random() < 0.25 ? 5 : 1
  client.get(...Array.from({ length: count }, () => anyPath(random)))
  await turns(random() * 60)
  await client.leave(random() < 0.3 ? 'reset' : 'end')
  return count
}

/** One connection with many streams: most are reset after a while, the rest die with it. */
async function session(port: number, random: () => number): Promise<void> {
  const client = await Http2Client.connect(port)
  const streams = Array.from({ length: AT_ONCE }, async () => {
    const stream = client.ask(anyPath(random))
    await turns(random() * 60)
    if (random() < 0.8) await stream.reset()
  })
  await Promise.all(streams)
  await client.leave()
}

/** Runs `crowd`, then waits until nobody is left, and compares what the gate, the probe and the process say. */
async function watched<Target extends readonly unknown[]>(rig: Rig<Target>, crowd: () => Promise<void>): Promise<void> {
  const complaints: unknown[] = []
  const complain = (what: unknown): void => void complaints.push(what)
  process.on('warning', complain).on('unhandledRejection', complain)
  try {
    await crowd()
    // What the server has not read by now it will find closed.
    await turns(100)
    await rig.until('all have ended', () => rig.snapshot().inFlight + rig.snapshot().waiting === 0)
    await turns(1)
  } finally {
    process.off('warning', complain).off('unhandledRejection', complain)
  }
  const { admitted, refused, refusedBy, finished } = rig.snapshot()
  assert.deepEqual(complaints, [])
  assert.deepEqual(refusedBy, { 'gate:gone': refused })
  assert.equal(finished.success + finished.ignored, admitted)
  assert.deepEqual([rig.probe.outstanding, rig.probe.doubled], [0, 0])
  // Else they left at no such random moments.
  for (const [what, count] of Object.entries({ refused, ...finished }))
    if (what !== 'failure') assert.ok(count >= REQUESTS / 100, `only ${count} ${what}`)
}
