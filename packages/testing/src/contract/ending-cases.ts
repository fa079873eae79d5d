import assert from 'node:assert/strict'
import type { Outcome } from '@fairlead/core'
import { createGate } from '@fairlead/core'
import { Cases, type ContractCase } from './cases.js'
import type { AdapterHarness } from './harness.js'

const ENDINGS: readonly (readonly [name: string, path: string, status: number, outcome: Outcome])[] = [
  ['a normal end', '/send/200', 200, 'success'],
  ['a client error', '/send/404', 404, 'success'],
  ['304 without a body', '/send/304', 304, 'success'],
  ['a 429 of the handler', '/send/429', 429, 'failure'],
  ['a 503 of the handler', '/send/503', 503, 'failure'],
  ['another 5xx of the handler', '/send/502', 502, 'ignored'],
  ['a thrown error', '/throw', 500, 'ignored'],
  ['a rejected promise', '/reject', 500, 'ignored'],
  ['a thrown ResourceExhaustedError', '/exhausted', 503, 'failure'],
  ['a rejected ResourceExhaustedError', '/reject-exhausted', 503, 'failure'],
  ["the framework's HTTP error 404", '/http-error/404', 404, 'success'],
  ["the framework's HTTP error 429", '/http-error/429', 429, 'failure'],
  ["the framework's HTTP error 503", '/http-error/503', 503, 'failure'],
]

/** How a request ends if the client stays: each way has its outcome, reported exactly once. */
export function endingCases<Target extends readonly unknown[]>(harness: AdapterHarness<Target>): ContractCase[] {
  const cases = new Cases(harness)

  for (const wrapped of [false, true])
    for (const [name, path, status, outcome] of ENDINGS)
      cases.add(
        `${name}: ${outcome}${wrapped ? ', handler wrapped' : ''}`,
        () => ({ wrapped }),
        async (rig) => {
          assert.equal((await rig.exchange(path)).status, status)
          await rig.finished({ [outcome]: 1 })
        },
      )

  cases.plain('HEAD: success, without a body', async (rig) => {
    const reply = await rig.exchange('/send/200', { method: 'HEAD' })
    assert.deepEqual([reply.status, reply.body], [200, ''])
    await rig.finished({ success: 1 })
  })

  cases.plain('HEAD of a streaming route: success', async (rig) => {
    assert.equal((await rig.exchange('/stream', { method: 'HEAD' })).status, 200)
    await rig.finished({ success: 1 })
  })

  cases.plain('a streamed body: held until its last byte, then success', async (rig) => {
    const client = await rig.connect()
    client.get('/open-stream')
    await client.received('one,')
    assert.equal(rig.snapshot().inFlight, 1)
    rig.scenes.raiseCurtain()
    await client.received('two')
    await rig.finished({ success: 1 })
    await client.leave()
  })

  cases.plain('a streamed body that the server cuts off: ignored', async (rig) => {
    const reply = await rig.exchange('/broken-stream').catch(() => undefined)
    assert.notEqual(reply?.complete, true)
    await rig.finished({ ignored: 1 })
  })

  cases.plain('a response finished twice: one success', async (rig) => {
    assert.equal((await rig.exchange('/twice')).body, 'done')
    await rig.finished({ success: 1 })
  })

  cases.plain('a permit finished by hand, twice: the first call counts, and nothing after it', async (rig) => {
    assert.equal((await rig.exchange('/finish')).status, 200)
    await rig.finished({ failure: 1 })
  })

  cases.plain('many requests on one connection: one permit at a time, each given back', async (rig) => {
    const client = await rig.connect()
    for (let i = 0; i < 100; i++) {
      client.get('/send/200')
      await client.received('done')
      await rig.finished({ success: i + 1 })
    }
    assert.equal(rig.snapshot().inFlight, 0)
    await client.leave()
  })

  cases.plain('an unread body: success, and the connection goes on', async (rig) => {
    const client = await rig.connect()
    const body = 'x'.repeat(100_000)
    client.write(`POST /send/200 HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    await client.received('done')
    client.get('/send/200')
    await client.received('done')
    await rig.finished({ success: 2 })
    await client.leave()
  })

  cases.add(
    'several gates in one app: each hears the end once',
    () => ({ inner: [{ gate: createGate({ fair: false }) }, { gate: createGate({ fair: false }) }] }),
    async (rig) => {
      await rig.exchange('/send/200')
      await rig.exchange('/send/503')
      await rig.finished({ success: 1, failure: 1 })
    },
  )

  cases.add(
    'an option outcome that decides, that throws, that answers nonsense: the default stands in',
    () => {
      const answers: (() => unknown)[] = [
        () => 'ignored',
        () => {
          throw new Error('no outcome')
        },
        () => 'maybe',
        () => Promise.reject(new Error('too late')),
        () => 'failure',
      ]
      const outcome = (): Outcome => answers.shift()?.() as Outcome
      return { options: { outcome, onWarning: () => {} } }
    },
    async (rig) => {
      for (let i = 1; i <= 5; i++) {
        await rig.exchange('/send/200')
        await rig.until('finished', () => rig.probe.outcomes.length === i)
      }
      assert.deepEqual(rig.probe.outcomes, ['ignored', 'success', 'success', 'success', 'failure'])
    },
  )

  return cases.all
}
