import assert from 'node:assert/strict'
import { createGate } from '@fairlead/core'
import { limitStage, manualClock } from '@fairlead/core/testing'
import { Cases, type ContractCase } from './cases.js'
import type { AdapterHarness } from './harness.js'
import type { Rig, RigOptions } from './rig.js'

/** Clients that leave: while they wait, while their handler runs, while they are answered. */
export function leavingCases<Target extends readonly unknown[]>(harness: AdapterHarness<Target>): ContractCase[] {
  const cases = new Cases(harness)

  for (const how of ['end', 'reset'] as const) {
    cases.add(
      `a client gone while queued (${how}): refused as gone, the handler does not run`,
      () => ({ stages: [limitStage(1, { waiters: 5 })] }),
      async (rig) => {
        const first = await rig.connect()
        first.get('/wait')
        await rig.begun('/wait')
        const second = await rig.connect()
        second.get('/send/200')
        await rig.until('one waits', () => rig.snapshot().waiting === 1)
        await second.leave(how)
        await rig.until('no request waits', () => rig.snapshot().waiting === 0)
        assert.deepEqual(rig.snapshot().refusedBy, { 'gate:gone': 1 })
        rig.scenes.raiseCurtain()
        await first.received('done')
        await rig.finished({ success: 1 })
        assert.equal(rig.scenes.begun.get('/send/200'), undefined)
        await first.leave()
      },
    )

    cases.plain(`a client gone while handled (${how}): its signal fires first, then ignored`, async (rig) => {
      const client = await rig.connect()
      client.get('/wait')
      await rig.begun('/wait')
      await client.leave(how)
      await rig.until('the signal fired', () => rig.scenes.signalled === 1)
      rig.scenes.raiseCurtain()
      await rig.finished({ ignored: 1 })
    })

    cases.plain(`a streamed body abandoned by the client (${how}): its signal fires, then ignored`, async (rig) => {
      const client = await rig.connect()
      client.get('/open-stream')
      await client.received('one,')
      await client.leave(how)
      await rig.until('the signal fired', () => rig.scenes.signalled === 1)
      rig.scenes.raiseCurtain()
      await rig.finished({ ignored: 1 })
    })

    cases.plain(
      `pipelined requests whose connection dies (${how}): the first ignored, the rest not run`,
      async (rig) => {
        const clients = await Promise.all(Array.from({ length: 5 }, () => rig.connect()))
        for (const client of clients) client.get(...new Array<string>(10).fill('/wait'))
        await rig.begun('/wait', 5)
        await Promise.all(clients.map((client) => client.leave(how)))
        await rig.until('all signals fired', () => rig.scenes.signalled === 5)
        await rig.until('the rest has gone', () => rig.snapshot().refused === 45)
        rig.scenes.raiseCurtain()
        await rig.finished({ ignored: 5 })
        assert.deepEqual(rig.snapshot().refusedBy, { 'gate:gone': 45 })
        assert.equal(rig.scenes.begun.get('/wait'), 5)
      },
    )

    cases.add(
      `pipelined requests behind one that waits when their connection dies (${how}): none is left behind`,
      () => ({ stages: [limitStage(1, { waiters: 100 })] }),
      async (rig) => {
        const holder = await rig.connect()
        holder.get('/wait')
        await rig.begun('/wait')
        const client = await rig.connect()
        client.get(...new Array<string>(10).fill('/wait'))
        await rig.until('one waits', () => rig.snapshot().waiting === 1)
        await client.leave(how)
        await rig.until('no request waits', () => rig.snapshot().waiting === 0 && rig.snapshot().refused === 10)
        rig.scenes.raiseCurtain()
        await rig.finished({ success: 1 })
        assert.deepEqual(rig.snapshot().refusedBy, { 'gate:gone': 10 })
        assert.equal(rig.scenes.begun.get('/wait'), 1)
        await holder.leave()
      },
    )
  }

  cases.plain('an upload broken off: ignored', async (rig) => {
    const client = await rig.connect()
    client.write('POST /wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nhalf a body')
    await rig.begun('/wait')
    await client.leave()
    await rig.until('the signal fired', () => rig.scenes.signalled === 1)
    rig.scenes.raiseCurtain()
    await rig.finished({ ignored: 1 })
  })

  cases.add(
    'a response that never ends: held while the client stays, and gone with it',
    () => ({ wrapped: true }),
    async (rig) => {
      const client = await rig.connect()
      client.get('/obey')
      await rig.begun('/obey')
      assert.equal(rig.snapshot().inFlight, 1)
      await client.leave()
      await rig.finished({ ignored: 1 })
    },
  )

  for (const stays of [true, false])
    cases.add(
      `a wrapped handler that settles by hand, ${stays ? 'and is heard' : 'its client gone'}: that counts, once`,
      () => ({ wrapped: true }),
      async (rig) => {
        const costs: number[] = []
        rig.gate.observe((event) => event.type === 'finished' && costs.push(event.cost))
        const client = await rig.connect()
        client.get('/settle/42')
        await rig.begun('/settle/42')
        if (!stays) {
          await client.leave()
          await rig.until('the signal fired', () => rig.scenes.signalled === 1)
        }
        rig.scenes.raiseCurtain()
        if (stays) await client.received('done')
        await rig.finished({ ignored: 1 })
        // This question comes after anything else that the adapter might still report.
        await rig.exchange('/settle/7')
        assert.deepEqual(costs, [42, 7])
        await client.leave()
      },
    )

  cases.add(
    'a client that leaves a wrapped handler: its permit is kept until the handler has settled',
    () => ({ wrapped: true }),
    async (rig) => {
      const client = await rig.connect()
      client.get('/wait')
      await rig.begun('/wait')
      await client.leave()
      await rig.until('the signal fired', () => rig.scenes.signalled === 1)
      assert.equal(rig.snapshot().inFlight, 1)
      rig.scenes.raiseCurtain()
      await rig.finished({ ignored: 1 })
    },
  )

  cases.add(
    'several gates, and a client that leaves a wrapped handler: all permits are kept until it has settled',
    () => ({ inner: [{ gate: createGate({ fair: false }) }], wrapped: true }),
    async (rig) => {
      const client = await rig.connect()
      client.get('/wait')
      await rig.begun('/wait')
      await client.leave()
      await rig.until('the signal fired', () => rig.scenes.signalled === 1)
      // The other gate is told in the same turn.
      await new Promise((resolve) => setImmediate(resolve))
      assert.equal(rig.snapshot().inFlight, 1)
      rig.scenes.raiseCurtain()
      await rig.finished({ ignored: 1 })
    },
  )

  const shortages: readonly [where: string, options: () => RigOptions<Target>][] = [
    ['', () => ({ wrapped: true })],
    [', with an inner gate without FAIR', () => ({ wrapped: true, inner: [{ gate: createGate({ fair: false }) }] })],
  ]
  for (const [where, options] of shortages)
    cases.add(`handlers that meet a shortage after their clients have left: failures${where}`, options, async (rig) => {
      const paths = ['/wait-short', '/wait-exhausted', '/wait-short-held']
      for (const path of paths) {
        const client = await rig.connect()
        client.get(path)
        await rig.begun(path)
        await client.leave()
      }
      rig.scenes.raiseCurtain()
      await rig.finished({ failure: paths.length })
    })

  const clock = manualClock()
  cases.add(
    'a handler that never settles and whose client has left: the permit goes with its lease',
    () => ({ wrapped: true, gate: { permitTimeoutMs: 60_000, clock } }),
    async (rig) => {
      const client = await rig.connect()
      client.get('/never')
      await rig.begun('/never')
      await client.leave()
      assert.equal((await rig.exchange('/send/200')).status, 200)
      await rig.finished({ success: 1 })
      assert.equal(rig.snapshot().inFlight, 1)
      clock.advance(60_000)
      await rig.exchange('/send/200')
      await rig.finished({ success: 2, ignored: 1 })
      assert.equal(rig.snapshot().expired, 1)
    },
  )

  if (harness.seesHandlers === 'wrapped')
    cases.plain('a handler that never settles: the permit goes with the client', async (rig) => {
      const client = await rig.connect()
      client.get('/never')
      await rig.begun('/never')
      assert.equal(rig.snapshot().inFlight, 1)
      await client.leave()
      await rig.finished({ ignored: 1 })
    })

  cases.add(
    'clients that abort and retry under a limit of 2, handlers wrapped: never more than 2 handlers at once',
    () => ({ stages: [limitStage(2)], wrapped: true }),
    async (rig) => {
      await abortAndRetry(rig, '/wait', 20)
      assert.equal(rig.scenes.most, 2)
      assert.equal(rig.scenes.begun.get('/wait'), 2)
    },
  )

  cases.add(
    'clients that abort and retry under a limit of 2, handlers that obey their signal: never more than 2 at once',
    () => ({ stages: [limitStage(2)] }),
    async (rig) => {
      await abortAndRetry(rig, '/obey', 20)
      assert.ok(rig.scenes.most <= 2, `${rig.scenes.most} handlers at once`)
      assert.equal(rig.scenes.begun.get('/obey'), 20)
    },
  )

  return cases.all
}

/** One client after another: each asks, and leaves as soon as its handler runs; refused ones are answered. */
async function abortAndRetry<Target extends readonly unknown[]>(
  rig: Rig<Target>,
  path: string,
  times: number,
): Promise<void> {
  for (let i = 0; i < times; i++) {
    const begun = rig.scenes.begun.get(path) ?? 0
    const { refused } = rig.snapshot()
    const client = await rig.connect()
    client.get(path)
    await rig.until('begun or refused', () => {
      return (rig.scenes.begun.get(path) ?? 0) > begun || rig.snapshot().refused > refused
    })
    if (rig.snapshot().refused > refused) await client.received('HTTP/1.1 503')
    await client.leave()
  }
}
