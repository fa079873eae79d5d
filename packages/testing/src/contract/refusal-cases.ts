import assert from 'node:assert/strict'
import { createGate, refuse, type Stage } from '@fairlead/core'
import { escrow } from '@fairlead/core/escrow'
import { limitStage, manualClock, probeStage } from '@fairlead/core/testing'
import { Cases, type ContractCase } from './cases.js'
import type { Reply } from './client.js'
import type { AdapterHarness } from './harness.js'

export const OVER_SHARE: Stage = { name: 'share', admit: () => refuse('share', 'unfair', false, 2_500) }
const LATE: Stage = { name: 'slow', admit: () => Promise.resolve(undefined) }
export const TOO_BUSY: Stage = { name: 'busy', admit: () => refuse('busy', 'overload', true, 900) }

/** Checks that a reply is a refusal in every part: status, headers, document. */
export function requireProblem(
  reply: Reply,
  status: 429 | 503,
  type: string,
  stage: string,
  leastSeconds: number,
): void {
  assert.equal(reply.status, status)
  assert.match(reply.headers['content-type'] ?? '', /^application\/problem\+json/)
  assert.match(reply.headers['retry-after'] ?? '', /^\d+$/)
  assert.ok(Number(reply.headers['retry-after']) >= leastSeconds)
  const problem = JSON.parse(reply.body) as Record<string, unknown>
  assert.equal(problem['type'], `https://iana.org/assignments/http-problem-types#${type}`)
  assert.equal(problem['status'], status)
  assert.deepEqual(problem['violated-policies'], [stage])
}

/** Refusals before the handler: what the client gets, and that nothing is left behind. */
export function refusalCases<Target extends readonly unknown[]>(harness: AdapterHarness<Target>): ContractCase[] {
  const cases = new Cases(harness)
  const fair = createGate()
  const costs: number[] = []
  const spent: Stage = {
    name: 'spent',
    admit: () => ({ finish: (_outcome, cost) => void costs.push(cost), undo: () => {} }),
  }

  cases.add(
    'a flow over its share: 429 with Retry-After and a problem document, the handler does not run',
    () => ({ stages: [OVER_SHARE] }),
    async (rig) => {
      requireProblem(await rig.exchange('/send/200'), 429, 'quota-exceeded', 'share', 3)
      assert.equal(rig.scenes.begun.size, 0)
      assert.equal(rig.probe.undone.length, 1)
      assert.equal(rig.snapshot().admitted, 0)
    },
  )

  cases.add(
    'a service short of capacity: 503 with Retry-After and a problem document',
    () => ({ stages: [TOO_BUSY] }),
    async (rig) => {
      requireProblem(await rig.exchange('/send/200'), 503, 'temporary-reduced-capacity', 'busy', 1)
      assert.equal(rig.scenes.begun.size, 0)
    },
  )

  cases.add(
    'a refused HEAD: no body, and the connection goes on',
    () => ({ stages: [TOO_BUSY] }),
    async (rig) => {
      const client = await rig.connect()
      client.write('HEAD /send/200 HTTP/1.1\r\nHost: localhost\r\n\r\n')
      assert.match(await client.received('\r\n\r\n'), /^HTTP\/1\.1 503 [^{]*$/)
      client.get('/send/200')
      assert.match(await client.received('temporary-reduced-capacity'), /^HTTP\/1\.1 503 /)
      await client.leave()
    },
  )

  cases.add(
    'a refused upload: answered although its body was not read, and the connection goes on',
    () => ({ stages: [TOO_BUSY] }),
    async (rig) => {
      const client = await rig.connect()
      const body = 'x'.repeat(1_000_000)
      client.write(`POST /send/200 HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      await client.received('temporary-reduced-capacity')
      client.get('/send/200')
      await client.received('temporary-reduced-capacity')
      await client.leave()
    },
  )

  cases.add(
    'waiting for a place: admitted when there is one, refused when the line is full',
    () => ({ stages: [limitStage(1, { waiters: 1 })] }),
    async (rig) => {
      const [first, second] = [await rig.connect(), await rig.connect()]
      first.get('/wait')
      await rig.begun('/wait')
      second.get('/send/200')
      await rig.until('one waits', () => rig.snapshot().waiting === 1)
      requireProblem(await rig.exchange('/send/200'), 503, 'temporary-reduced-capacity', 'limit', 1)
      rig.scenes.raiseCurtain()
      await Promise.all([first.received('done'), second.received('done')])
      await rig.finished({ success: 2 })
      await Promise.all([first.leave(), second.leave()])
    },
  )

  cases.add(
    'a gate that closes: what waits and what comes is answered 503, what runs may end',
    () => ({ stages: [limitStage(1, { waiters: 1 })] }),
    async (rig) => {
      const [first, second] = [await rig.connect(), await rig.connect()]
      first.get('/wait')
      await rig.begun('/wait')
      second.get('/send/200')
      await rig.until('one waits', () => rig.snapshot().waiting === 1)
      rig.gate.close()
      assert.match(await second.received('temporary-reduced-capacity'), /^HTTP\/1\.1 503 /)
      assert.equal((await rig.exchange('/send/200')).status, 503)
      rig.scenes.raiseCurtain()
      await first.received('done')
      await rig.finished({ success: 1 })
      await Promise.all([first.leave(), second.leave()])
    },
  )

  cases.add(
    'an inner gate that refuses, for any reason: the outer one gets its permit back, and no failure',
    () => ({
      inner: [
        { gate: createGate({ fair: false }) },
        { gate: createGate({ fair: false, stages: [probeStage('late'), LATE, TOO_BUSY] }) },
      ],
    }),
    async (rig) => {
      assert.equal((await rig.exchange('/send/200')).status, 503)
      await rig.finished({ ignored: 1 })
    },
  )

  cases.add(
    'a budget of an inner gate that is used up: no failure, and no cost, to the outer one',
    () => ({
      stages: [spent],
      inner: [
        { gate: createGate({ fair: false, budget: escrow({ limit: 1, windowMs: 60_000 }), clock: manualClock() }) },
      ],
    }),
    async (rig) => {
      costs.length = 0
      assert.equal((await rig.exchange('/send/200')).status, 200)
      assert.equal((await rig.exchange('/send/200')).status, 429)
      await rig.finished({ success: 1, ignored: 1 })
      assert.deepEqual(costs, [1, 0])
    },
  )

  cases.add(
    "a failure behind an inner gate with FAIR is that one's alone; behind one without it is the outer one's",
    () => {
      const skip = (...target: Target): boolean => harness.header(target, 'x-own') === undefined
      return { inner: [{ gate: fair, skip }, { gate: createGate({ fair: false }) }] }
    },
    async (rig) => {
      const before = fair.snapshot().finished.failure
      await rig.exchange('/send/503', { headers: { 'x-own': 'yes' } })
      await rig.finished({ ignored: 1 })
      assert.equal(fair.snapshot().finished.failure, before + 1)
      await rig.exchange('/send/503')
      await rig.finished({ ignored: 1, failure: 1 })
      assert.equal(fair.snapshot().finished.failure, before + 1)
    },
  )

  cases.add(
    'an inner gate whose client leaves while it waits there: the outer one gets its permit back',
    () => {
      const stages = [probeStage('inner'), { name: 'stuck', admit: () => new Promise<never>(() => {}) }]
      return { inner: [{ gate: createGate({ fair: false, stages }) }] }
    },
    async (rig) => {
      const client = await rig.connect()
      client.get('/send/200')
      await rig.until('admitted by the outer gate', () => rig.snapshot().admitted === 1)
      await client.leave()
      await rig.finished({ ignored: 1 })
      assert.equal(rig.scenes.begun.size, 0)
    },
  )

  return cases.all
}
