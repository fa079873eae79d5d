import assert from 'node:assert/strict'
import { createGate, type GateOptions } from '@fairlead/core'
import { escrow } from '@fairlead/core/escrow'
import { requestQueue } from '@fairlead/core/queue'
import { limitStage } from '@fairlead/core/testing'
import { Cases, type ContractCase } from './cases.js'
import type { RawClient } from './client.js'
import type { AdapterHarness } from './harness.js'
import { Http2Client } from './http2-client.js'
import { TOO_BUSY } from './refusal-cases.js'
import type { Rig, RigOptions } from './rig.js'

/** More than Node reads of an unread body, and more than that and the system's buffers together. */
const UNREAD = 300_000
const FAR_TOO_MUCH = 3_000_000
/** More than the read-ahead of one connection, and a number of connections that exceeds the total. */
const BEYOND_ALL_BOUNDS = 5_000_000
const MANY = 12
/** Clients that keep a request waiting are cut off as soon as the options allow, or never during a case. */
const CUT_OFF = { hasty: true, options: { clientTimeoutMs: 1_000 } }
const NOT_CUT_OFF = { hasty: true, options: { clientTimeoutMs: 3_600_000 } }
/** Most bytes that clients can send after a refusal: those read, and those in the buffers of both ends. */
const MOST_TAKEN = 20_000_000
/** Much longer than it takes to cut off a slow body, also on a busy machine. */
const MAX_WAIT_MS = 20_000

/**
 * Malicious or merely odd clients: they leave where Node does not read, hold on to what they have, and send unwanted
 * data. Each must give back its capacity, in seconds, and hold no more than its share while others wait.
 */
export function attackCases<Target extends readonly unknown[]>(harness: AdapterHarness<Target>): ContractCase[] {
  const cases = new Cases(harness)

  for (const how of ['end', 'reset'] as const)
    for (const size of [UNREAD, FAR_TOO_MUCH])
      cases.add(
        `a client that leaves (${how}) behind ${size} unread bytes: its signal fires`,
        () => NOT_CUT_OFF,
        async (rig) => {
          const client = await rig.connect()
          client.post('/wait', size)
          await rig.begun('/wait')
          await client.leave(how)
          await rig.until('the signal fired', () => rig.scenes.signalled === 1)
          rig.scenes.raiseCurtain()
          await rig.finished({ ignored: 1 })
        },
      )

  cases.add(
    `${MANY} clients that leave behind ${BEYOND_ALL_BOUNDS} unread bytes each: given up after clientTimeoutMs`,
    () => ({ hasty: true, options: { clientTimeoutMs: 30_000 } }),
    async (rig) => {
      const clients = await Promise.all(Array.from({ length: MANY }, () => rig.connect()))
      for (const client of clients) client.post('/wait', BEYOND_ALL_BOUNDS)
      await rig.begun('/wait', MANY)
      await Promise.all(clients.map((client) => client.leave()))
      // Their handlers still run, and cannot be stopped.
      await rig.finished({ ignored: MANY })
      assert.equal(rig.scenes.running, MANY)
    },
  )

  cases.add(
    'a client that half-closes behind an unread body: ignored',
    () => NOT_CUT_OFF,
    async (rig) => {
      const client = await rig.connect()
      client.post('/wait', UNREAD)
      client.halfClose()
      await rig.until('the signal fired', () => rig.scenes.signalled === 1)
      rig.scenes.raiseCurtain()
      await rig.finished({ ignored: 1 })
      await client.leave()
    },
  )

  cases.add(
    'a client that leaves while it waits behind an unread body: out of the line, not run',
    () => ({ ...NOT_CUT_OFF, stages: [limitStage(1, { waiters: 10 })] }),
    async (rig) => {
      const holder = await rig.connect()
      holder.get('/wait')
      await rig.begun('/wait')
      const waiter = await rig.connect()
      waiter.post('/send/200', UNREAD)
      await rig.until('one waits', () => rig.snapshot().waiting === 1)
      await waiter.leave()
      await rig.until('no request waits', () => rig.snapshot().waiting === 0)
      rig.scenes.raiseCurtain()
      await rig.finished({ success: 1 })
      assert.equal(rig.scenes.begun.get('/send/200'), undefined)
      await holder.leave()
    },
  )

  for (const [name, behind] of [
    ['in the same packet', (rig: Rig<Target>) => Promise.resolve(void rig)],
    ['in packets of their own', (rig: Rig<Target>) => rig.begun('/open-stream')],
  ] as const)
    cases.add(
      `requests pipelined behind a stream, ${name}, whose client leaves: nothing is held`,
      () => NOT_CUT_OFF,
      async (rig) => {
        const client = await rig.connect()
        client.get('/open-stream')
        await behind(rig)
        for (let i = 0; i < 3; i++) client.get('/big/300000')
        client.post('/big/300000', UNREAD)
        await rig.begun('/open-stream')
        await client.received('one,')
        await client.leave()
        await rig.until('nothing is held', () => rig.snapshot().inFlight === 0)
        assert.equal(rig.scenes.begun.get('/big/300000'), undefined)
        assert.deepEqual(rig.snapshot().finished, { success: 0, failure: 0, ignored: 1 })
      },
    )

  cases.plain('pipelined requests: one after the other, each answered', async (rig) => {
    const client = await rig.connect()
    client.get(...new Array<string>(20).fill('/turns/3'))
    await client.received('done', 20)
    assert.equal(rig.scenes.most, 1)
    await rig.finished({ success: 20 })
    await client.leave()
  })

  cases.plain('more pipelined requests than anybody needs: the connection is closed', async (rig) => {
    const client = await rig.connect()
    client.get('/wait', ...new Array<string>(200).fill('/send/200'))
    await client.closed
    rig.scenes.raiseCurtain()
    await rig.finished({ ignored: 1 })
  })

  for (const [name, headers] of [
    ['of a length that it says', 'Content-Length: 1000000000\r\n'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n'],
  ] as const)
    cases.add(
      `a refused upload without end, ${name}: answered, read no further, closed`,
      () => ({ stages: [TOO_BUSY] }),
      async (rig) => {
        const client = await rig.connect()
        client.write(`POST /send/200 HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`)
        // One endless chunk.
        if (headers.startsWith('Transfer')) client.write('3b9aca00\r\n')
        const head = client.received('temporary-reduced-capacity')
        const taken = await client.flood()
        assert.match(await head, /^HTTP\/1\.1 503 [^{]*connection: close/i)
        assert.ok(taken < MOST_TAKEN, `${taken} bytes were taken`)
        await client.closed
      },
    )

  cases.add(
    'a client whose body never comes: cut off in time, as one that left',
    () => CUT_OFF,
    async (rig) => {
      const client = await rig.connect()
      client.write('POST /wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nhalf a body')
      await rig.begun('/wait')
      const answer = client.received('\r\n\r\n')
      await client.closed
      assert.match(await answer, /^HTTP\/1\.1 408 /)
      rig.scenes.raiseCurtain()
      await rig.finished({ ignored: 1 })
    },
  )

  cases.add(
    'a client that reads nothing of a large answer: cut off in time',
    () => CUT_OFF,
    async (rig) => {
      const client = await rig.connect()
      client.stopReading()
      client.get('/big/50000000')
      await rig.begun('/big/50000000')
      await rig.finished({ ignored: 1 })
      await client.leave()
    },
  )

  cases.add(
    'one flow with slow bodies on all slots: cut off once others wait, beyond its share',
    () => ({
      gate: { queue: requestQueue({ concurrency: 4, maxWaitMs: 20_000 }) },
      wrapped: true,
      options: {
        slowBodyMs: 0,
        flow: (...target: Target) => harness.header(target, 'x-tenant'),
      },
    }),
    async (rig) => {
      const clients = await Promise.all(Array.from({ length: 4 }, () => rig.connect()))
      for (const client of clients)
        client.write('POST /obey HTTP/1.1\r\nHost: localhost\r\nX-Tenant: slow\r\nContent-Length: 1000\r\n\r\n{')
      await rig.begun('/obey', 4)
      const other = await rig.exchange('/send/200', { headers: { 'x-tenant': 'other' } })
      assert.equal(other.status, 200)
      // Each of two flows is entitled to two of the four slots, so two requests are cut off; only one, if the last one
      // has not yet been recognised as slow when the other flow gets its slot, after which no request waits.
      await rig.until('the other is done', () => rig.snapshot().inFlight < 4)
      assert.ok(rig.snapshot().inFlight >= 2)
      await Promise.all(clients.map((client) => client.leave()))
      await rig.finished({ success: 1, ignored: 4 })
    },
  )

  cases.add(
    'one flow that opens slow bodies again and again: the requests of the others are served, none after its time',
    () => ({
      hasty: true,
      gate: { queue: requestQueue({ concurrency: 8, maxWaitMs: MAX_WAIT_MS }) },
      wrapped: true,
      options: { clientTimeoutMs: 3_600_000, flow: (...target: Target) => harness.header(target, 'x-tenant') },
    }),
    async (rig) => {
      const open = new Set<RawClient>()
      let attacks = true
      const attack = async (): Promise<void> => {
        while (attacks) {
          const client = await rig.connect()
          open.add(client)
          client.write('POST /obey HTTP/1.1\r\nHost: localhost\r\nX-Tenant: slow\r\nContent-Length: 1000\r\n\r\n{')
          if (attacks) await client.closed
          else await client.leave()
          open.delete(client)
        }
      }
      // `allSettled`, because the attackers' connections may fail where the requests of the others do.
      const attackers = Promise.allSettled(Array.from({ length: 40 }, attack))
      const visitor = async (_: unknown, i: number): Promise<number[]> => {
        const statuses: number[] = []
        for (let asked = 0; asked < 4; asked++)
          statuses.push((await rig.exchange('/send/200', { headers: { 'x-tenant': `other-${i}` } })).status)
        return statuses
      }
      let statuses: number[]
      try {
        await rig.begun('/obey', 8)
        statuses = (await Promise.all(Array.from({ length: 5 }, visitor))).flat()
      } finally {
        attacks = false
        await Promise.all([...open].map((client) => client.leave()))
        await attackers
      }
      assert.deepEqual(statuses, new Array<number>(20).fill(200))
    },
  )

  {
    const warnings: string[] = []
    const onWarning = (message: string): void => void warnings.push(message)
    const twice = (): RigOptions<Target> => {
      warnings.length = 0
      const inner = { gate: sharedGate({ budget: escrow({ limit: 10, windowMs: 60_000 }) }), onWarning }
      return { inner: [inner, inner] }
    }
    cases.add('one gate twice in a row: judged once, and said once for each that came second', twice, async (rig) => {
      for (let i = 0; i < 10; i++) assert.equal((await rig.exchange('/send/200')).status, 200)
      await rig.finished({ success: 10 })
      assert.equal(warnings.length, 1)
      assert.match(warnings[0] ?? '', /^A request has passed the same gate twice: /)
    })
  }

  {
    const warnings: string[] = []
    const behindProxy = (): RigOptions<Target> => {
      warnings.length = 0
      return { options: { onWarning: (message) => void warnings.push(message) } }
    }
    cases.add('a header of a proxy that is not trusted: said once', behindProxy, async (rig) => {
      await rig.exchange('/send/200')
      assert.deepEqual(warnings, [])
      for (let i = 0; i < 3; i++) await rig.exchange('/send/200', { headers: { 'x-forwarded-for': '198.51.100.7' } })
      assert.equal(warnings.length, 1)
      assert.match(warnings[0] ?? '', /^A request carries the header x-forwarded-for, and no proxy is trusted: /)
    })
  }

  const start = harness.startHttp2?.bind(harness)
  if (start === undefined) return cases.all
  const overHttp2 = new Cases({ ...harness, start })

  overHttp2.add(
    'HTTP/2: a client that opens no window for a large answer: cut off in time, and the others are not',
    () => CUT_OFF,
    async (rig) => {
      const client = await Http2Client.connect(rig.port, 0)
      const blocked = client.ask('/big/500000')
      const waiting = client.ask('/wait')
      await rig.begun('/wait')
      await blocked.reply
      await rig.until('one is left', () => rig.snapshot().inFlight === 1)
      rig.scenes.raiseCurtain()
      await client.leave()
      await waiting.reply
    },
  )

  overHttp2.add(
    'HTTP/2: a stream whose body never comes: cut off in time',
    () => CUT_OFF,
    async (rig) => {
      const client = await Http2Client.connect(rig.port)
      const upload = client.upload('/wait', '')
      await upload.reply
      rig.scenes.raiseCurtain()
      await rig.finished({ ignored: 1 })
      await client.leave()
    },
  )

  overHttp2.add(
    'HTTP/2: a refused upload without end: answered, and its stream reset',
    () => ({ stages: [TOO_BUSY] }),
    async (rig) => {
      const client = await Http2Client.connect(rig.port)
      const { reply, written } = await client.flood('/send/200')
      assert.equal(reply.status, 503)
      assert.ok(written < MOST_TAKEN, `${written} bytes were taken`)
      await client.leave()
    },
  )
  return [...cases.all, ...overHttp2.all]
}

function sharedGate(options: GateOptions): ReturnType<typeof createGate> {
  return createGate({ fair: false, ...options })
}
