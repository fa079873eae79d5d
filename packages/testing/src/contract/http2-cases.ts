import assert from 'node:assert/strict'
import type { Outcome } from '@fairlead/core'
import { limitStage } from '@fairlead/core/testing'
import { Cases, type ContractCase } from './cases.js'
import type { AdapterHarness } from './harness.js'
import { Http2Client } from './http2-client.js'
import { OVER_SHARE, requireProblem, TOO_BUSY } from './refusal-cases.js'
import type { Rig, RigOptions } from './rig.js'

const ENDINGS: readonly (readonly [name: string, path: string, status: number, outcome: Outcome])[] = [
  ['a normal end', '/send/200', 200, 'success'],
  ['304 without a body', '/send/304', 304, 'success'],
  ['a 503 of the handler', '/send/503', 503, 'failure'],
  ['a thrown error', '/throw', 500, 'ignored'],
  ["the framework's HTTP error 429", '/http-error/429', 429, 'failure'],
  ['a streamed body', '/stream', 200, 'success'],
]

/**
 * The differences where requests share a connection: each is a stream that can be reset while the others continue, and
 * the events of a reset stream are those of a finished one. Empty if the harness has no HTTP/2.
 */
export function http2Cases<Target extends readonly unknown[]>(harness: AdapterHarness<Target>): ContractCase[] {
  const start = harness.startHttp2?.bind(harness)
  if (start === undefined) return []
  const cases = new Cases({ ...harness, start })
  const add = (
    name: string,
    options: () => RigOptions<Target>,
    act: (rig: Rig<Target>, client: Http2Client) => Promise<void>,
  ): void =>
    cases.add(`HTTP/2: ${name}`, options, async (rig) => {
      const client = await Http2Client.connect(rig.port)
      await act(rig, client)
      await client.leave()
    })
  const plain = (name: string, act: (rig: Rig<Target>, client: Http2Client) => Promise<void>): void =>
    add(name, () => ({}), act)

  for (const [name, path, status, outcome] of ENDINGS)
    plain(`${name}: ${outcome}`, async (rig, client) => {
      const reply = await client.ask(path).reply
      assert.deepEqual([reply.status, reply.complete], [status, true])
      await rig.finished({ [outcome]: 1 })
    })

  for (const path of ['/send/200', '/stream'])
    plain(`HEAD of ${path}: success, without a body`, async (rig, client) => {
      const reply = await client.ask(path, { method: 'HEAD' }).reply
      assert.deepEqual([reply.status, reply.body], [200, ''])
      await rig.finished({ success: 1 })
    })

  plain('many streams at once on one connection: a permit each, and each given back', async (rig, client) => {
    const asked = Array.from({ length: 50 }, () => client.ask('/wait'))
    await rig.begun('/wait', 50)
    assert.equal(rig.snapshot().inFlight, 50)
    rig.scenes.raiseCurtain()
    for (const { status } of await Promise.all(asked.map(({ reply }) => reply))) assert.equal(status, 200)
    await rig.finished({ success: 50 })
  })

  plain('a streamed body: held until its last byte, then success', async (rig, client) => {
    const asked = client.ask('/open-stream')
    await asked.received('one,')
    assert.equal(rig.snapshot().inFlight, 1)
    rig.scenes.raiseCurtain()
    assert.equal((await asked.reply).body, 'one,two')
    await rig.finished({ success: 1 })
  })

  plain('a client that says goodbye (GOAWAY): what is under way is served to its end', async (rig, client) => {
    const asked = client.ask('/wait')
    await rig.begun('/wait')
    client.sayGoodbye('done')
    rig.scenes.raiseCurtain()
    assert.equal((await asked.reply).status, 200)
    await rig.finished({ success: 1 })
  })

  plain('a client that says goodbye because of an error: what is under way is ignored', async (rig, client) => {
    for (let i = 0; i < 3; i++) client.ask('/wait')
    await rig.begun('/wait', 3)
    client.sayGoodbye('error')
    await rig.until('the signals fired', () => rig.scenes.signalled === 3)
    rig.scenes.raiseCurtain()
    await rig.finished({ ignored: 3 })
  })

  plain('a streamed body that the server cuts off: ignored', async (rig, client) => {
    assert.equal((await client.ask('/broken-stream').reply).complete, false)
    await rig.finished({ ignored: 1 })
  })

  add(
    'a flow over its share: 429 with Retry-After and a problem document, and the connection goes on',
    () => ({ stages: [OVER_SHARE] }),
    async (rig, client) => {
      for (let i = 0; i < 2; i++) requireProblem(await client.ask('/send/200').reply, 429, 'quota-exceeded', 'share', 3)
      assert.equal(rig.scenes.begun.size, 0)
    },
  )

  add(
    'a service short of capacity: 503, whether it was asked for a body, for none, or sent one',
    () => ({ stages: [TOO_BUSY] }),
    async (rig, client) => {
      requireProblem(await client.ask('/send/200').reply, 503, 'temporary-reduced-capacity', 'busy', 1)
      const head = await client.ask('/send/200', { method: 'HEAD' }).reply
      assert.deepEqual([head.status, head.body], [503, ''])
      const upload = client.ask('/send/200', { method: 'POST', body: 'x'.repeat(1_000) })
      requireProblem(await upload.reply, 503, 'temporary-reduced-capacity', 'busy', 1)
      assert.equal(rig.scenes.begun.size, 0)
    },
  )

  add(
    'a stream reset while queued: refused as gone, and the handler does not run',
    () => ({ stages: [limitStage(1, { waiters: 5 })] }),
    async (rig, client) => {
      const first = client.ask('/wait')
      await rig.begun('/wait')
      const second = client.ask('/send/200')
      await rig.until('one waits', () => rig.snapshot().waiting === 1)
      await second.reset()
      await rig.until('no request waits', () => rig.snapshot().waiting === 0)
      assert.deepEqual(rig.snapshot().refusedBy, { 'gate:gone': 1 })
      rig.scenes.raiseCurtain()
      assert.equal((await first.reply).status, 200)
      await rig.finished({ success: 1 })
      assert.equal(rig.scenes.begun.get('/send/200'), undefined)
    },
  )

  for (const [when, path] of [
    ['while handled', '/wait'],
    ['in the middle of its body', '/open-stream'],
  ] as const)
    plain(
      `a stream reset ${when}: its signal fires, then ignored; its neighbour is none the wiser`,
      async (rig, client) => {
        const asked = client.ask(path)
        await rig.begun(path)
        if (path === '/open-stream') await asked.received('one,')
        await asked.reset()
        await rig.until('the signal fired', () => rig.scenes.signalled === 1)
        assert.equal((await client.ask('/send/200').reply).status, 200)
        rig.scenes.raiseCurtain()
        await rig.finished({ success: 1, ignored: 1 })
      },
    )

  plain('an upload that is reset: ignored', async (rig, client) => {
    const asked = client.upload('/wait', 'half a body')
    await rig.begun('/wait')
    await asked.reset()
    await rig.until('the signal fired', () => rig.scenes.signalled === 1)
    rig.scenes.raiseCurtain()
    await rig.finished({ ignored: 1 })
  })

  add(
    'a connection that dies with many streams, running and waiting: none is left behind',
    () => ({ stages: [limitStage(20, { waiters: 100 })] }),
    async (rig, client) => {
      for (let i = 0; i < 10; i++) client.ask('/open-stream')
      await rig.begun('/open-stream', 10)
      for (let i = 0; i < 40; i++) client.ask('/wait')
      await rig.until('thirty wait', () => rig.snapshot().waiting === 30)
      await client.leave()
      // Its streams die one after the other, so some that waited may have got the slot of one that died earlier.
      await rig.until('no request waits', () => rig.snapshot().waiting === 0)
      await rig.until('all signals fired', () => rig.scenes.signalled === begun(rig))
      rig.scenes.raiseCurtain()
      const { admitted, refusedBy } = rig.snapshot()
      assert.deepEqual(refusedBy, { 'gate:gone': 50 - admitted })
      await rig.finished({ ignored: admitted })
    },
  )

  return cases.all
}

function begun<Target extends readonly unknown[]>(rig: Rig<Target>): number {
  let sum = 0
  for (const times of rig.scenes.begun.values()) sum += times
  return sum
}
