import { bundleWorker } from '@fairlead-testing/servers/workerd'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningSite, runtimes } from './fixtures/runtimes.js'
import { SiteClient } from './fixtures/site-client.js'

const LEASE_MS = 60_000
const MAX_WAIT_MS = 1_000

describe.each(runtimes)('the built package on $name', ({ name, tells, start }) => {
  let server: RunningSite
  let sites = 0
  beforeAll(async () => {
    server = await start()
  }, 60_000)
  afterAll(() => server?.stop())
  const newSite = (): SiteClient => new SiteClient(server.port, `site-${++sites}`)
  const tellsBeforeAnswer = tells === 'all' || tells === 'until it was answered'

  it('an answer: as it is, for the address that asked, and its end is heard', async () => {
    const site = newSite()
    const { status, headers, body } = await site.ask('text').reply
    expect([status, body, headers['content-length']]).toEqual([200, 'done', '4'])
    await site.until(({ gate, flows }) => {
      expect(gate).toMatchObject({ inFlight: 0, finished: { success: 1 } })
      expect(flows).toEqual(['ip:127.0.0.1'])
    })
  })

  it('a stream that is read to its end: held until then', async () => {
    const site = newSite()
    const asked = site.ask('stream')
    await asked.received('one,')
    expect((await site.state()).gate.inFlight).toBe(1)
    await site.raiseCurtain()
    expect((await asked.reply).body).toBe('one,two')
    await site.until(({ gate }) => expect(gate).toMatchObject({ inFlight: 0, finished: { success: 1 } }))
  })

  it('a stream that its client abandons', async () => {
    const site = newSite()
    const asked = site.ask('endless')
    await asked.received('one,')
    asked.leave()
    if (tells === 'nothing') {
      // The end is never reported. The next request comes after the permit has timed out.
      await site.advance(LEASE_MS - 1)
      expect((await site.state()).gate.inFlight).toBe(1)
      await site.advance(1)
      expect((await site.ask('text').reply).status).toBe(200)
    }
    const finished = {
      all: { success: 0, failure: 0, ignored: 1 },
      // Deno reports that the response is over, but not how it ended.
      'until it was answered': { success: 1, failure: 0, ignored: 0 },
      'when it writes': { success: 0, failure: 0, ignored: 1 },
      nothing: { success: 1, failure: 0, ignored: 1 },
    }
    await site.until(({ gate, signalled }) => {
      expect(gate).toMatchObject({ inFlight: 0, expired: tells === 'nothing' ? 1 : 0, finished: finished[tells] })
      expect(signalled).toBe(finished[tells].ignored - gate.expired)
    })
  })

  it('HEAD of a stream that would not end: over with its headers', async () => {
    const site = newSite()
    expect((await site.ask('stream', 'HEAD').reply).status).toBe(200)
    await site.until(({ gate }) => expect(gate).toMatchObject({ inFlight: 0, finished: { success: 1 } }))
  })

  it('a request that waits, and is admitted when another ends', async () => {
    const site = newSite()
    const first = site.ask('wait')
    await site.until(({ gate }) => expect(gate.inFlight).toBe(1))
    const second = site.ask('text')
    await site.until(({ gate }) => expect(gate.waiting).toBe(1))
    await site.raiseCurtain()
    expect([(await first.reply).status, (await second.reply).status]).toEqual([200, 200])
    await site.until(({ gate }) => expect(gate).toMatchObject({ inFlight: 0, finished: { success: 2 } }))
  })

  it('many that wait: each is let in by the end of another, and nothing fails on the way', async () => {
    const site = new SiteClient(server.port, `long-line-${++sites}`)
    const first = site.ask('wait')
    await site.until(({ gate }) => expect(gate.inFlight).toBe(1))
    const others = Array.from({ length: 20 }, () => site.ask('timer'))
    const leaver = site.ask('timer')
    await site.until(({ gate }) => expect(gate.waiting).toBe(21))
    leaver.leave()
    if (tellsBeforeAnswer) await site.until(({ gate }) => expect(gate.waiting).toBe(20))
    await site.raiseCurtain()
    const replies = await Promise.all([first, ...others].map(({ reply }) => reply))
    expect(replies.map(({ status, body }) => [status, body])).toEqual(replies.map(() => [200, 'done']))
    await site.until(({ gate }) => expect(gate).toMatchObject({ inFlight: 0, waiting: 0, stageErrors: 0 }))
  })

  it('a request that may not even wait: 503, Retry-After and a problem document', async () => {
    const site = newSite()
    const first = site.ask('wait')
    await site.until(({ gate }) => expect(gate.inFlight).toBe(1))
    const second = site.ask('wait')
    await site.until(({ gate }) => expect(gate.waiting).toBe(1))
    const { status, headers, body } = await site.ask('text').reply
    expect([status, headers['content-type']]).toEqual([503, 'application/problem+json'])
    expect(headers['retry-after']).toMatch(/^\d+$/)
    expect(JSON.parse(body)).toMatchObject({ status: 503, 'violated-policies': ['queue'] })
    await site.raiseCurtain()
    expect([(await first.reply).status, (await second.reply).status]).toEqual([200, 200])
  })

  it('a request that waits for too long: turned away by a timer of its own', async () => {
    const site = newSite()
    const first = site.ask('wait')
    await site.until(({ gate }) => expect(gate.inFlight).toBe(1))
    const second = site.ask('text')
    await site.until(({ gate }) => expect(gate.waiting).toBe(1))
    await site.advance(MAX_WAIT_MS)
    expect((await second.reply).status).toBe(503)
    expect((await site.state()).gate).toMatchObject({ inFlight: 1, waiting: 0 })
    await site.raiseCurtain()
    expect((await first.reply).status).toBe(200)
  })

  it('a client that leaves while it waits', async () => {
    const site = newSite()
    const first = site.ask('wait')
    await site.until(({ gate }) => expect(gate.inFlight).toBe(1))
    const second = site.ask('text')
    await site.until(({ gate }) => expect(gate.waiting).toBe(1))
    second.leave()
    if (!tellsBeforeAnswer) {
      expect((await site.state()).gate.waiting).toBe(1)
      await site.advance(MAX_WAIT_MS)
    }
    await site.until(({ gate }) => expect(gate.waiting).toBe(0))
    const { refusedBy, admitted } = (await site.state()).gate
    expect([refusedBy, admitted]).toEqual([{ [tellsBeforeAnswer ? 'gate:gone' : 'queue:expired']: 1 }, 1])
    await site.raiseCurtain()
    expect((await first.reply).status).toBe(200)
    await site.until(({ gate }) => expect(gate).toMatchObject({ inFlight: 0, finished: { success: 1 } }))
  })

  it('a client that leaves while its handler runs: the permit is kept until that has settled', async () => {
    const site = newSite()
    const asked = site.ask('wait')
    await site.until(({ gate }) => expect(gate.inFlight).toBe(1))
    asked.leave()
    if (tellsBeforeAnswer) await site.until(({ signalled }) => expect(signalled).toBe(1))
    expect((await site.state()).gate.inFlight).toBe(1)
    await site.raiseCurtain()
    const outcome = tellsBeforeAnswer ? 'ignored' : 'success'
    await site.until(({ gate }) => expect(gate).toMatchObject({ inFlight: 0, finished: { [outcome]: 1 } }))
  })

  it('a handler that does not settle: its permit ends with its lease', async () => {
    const site = newSite()
    const first = site.ask('wait')
    await site.until(({ gate }) => expect(gate.inFlight).toBe(1))
    const second = site.ask('text')
    await site.until(({ gate }) => expect(gate.waiting).toBe(1))
    // The second waits for less than its limit, and detects by itself that the permit has timed out.
    await site.advance(LEASE_MS)
    expect([200, 503]).toContain((await second.reply).status)
    expect((await site.ask('text').reply).status).toBe(200)
    expect((await site.state()).gate).toMatchObject({ inFlight: 0, expired: 1 })
    await site.raiseCurtain()
    await first.reply
  })

  it('a lease that the user chose', async () => {
    const site = new SiteClient(server.port, `short-lease-${++sites}`)
    const first = site.ask('wait')
    await site.until(({ gate }) => expect(gate.inFlight).toBe(1))
    await site.advance(5_000)
    expect((await site.ask('text').reply).status).toBe(200)
    expect((await site.state()).gate.expired).toBe(1)
    await site.raiseCurtain()
    await first.reply
  })

  it('sheds by default by what the runtime can tell', async () => {
    const { gate } = await new SiteClient(server.port, 'defaults').state()
    expect(gate.stages).toMatchObject({ fair: { rule: 'fair-clock' } })
    const shed = gate.stages['shed'] as { signals: { name: string }[] } | undefined
    expect(shed?.signals.map((one) => one.name)).toEqual(name === 'Bun' ? ['memory', 'event-loop-delay'] : undefined)
    expect((await new SiteClient(server.port, 'defaults').ask('text').reply).status).toBe(200)
  })

  it('says nothing on its standard error', () => {
    // Deno warns about a request's signal that was read, and workerd reports broken connections.
    const theirs = /^$|^Deno\.serve: request\.signal aborts|^workerd\/server\/.* disconnected: |^stack: /
    const lines = server.complaints().split('\n')
    expect(lines.filter((line) => !theirs.test(line))).toEqual([])
  })
})

it('all runtimes are there to be tested, where they have binaries', () => {
  const names = runtimes.map(({ name }) => name)
  const everywhere = ['workerd', 'workerd, enable_request_signal']
  const isLinux = process.platform === 'linux' && process.arch === 'x64'
  expect(names).toEqual(isLinux ? ['Bun', 'Deno', ...everywhere] : expect.arrayContaining(everywhere))
})

describe('a bundle for the edge', () => {
  it.each([
    ['workerd', ['workerd', 'worker', 'browser']],
    ['Vercel', ['edge-light', 'worker']],
    ['a service worker', ['worker']],
    ['a browser', ['browser']],
    ['Deno', ['deno', 'import']],
    ['Deno, with Node’s names allowed', ['deno', 'node']],
    ['workerd, with Node’s names allowed', ['workerd', 'node']],
    ['nobody in particular', []],
  ])('has nothing that only Node has, for %s', async (_name, conditions) => {
    const text = await bundleWorker(new URL('./fixtures/worker.ts', import.meta.url), conditions)
    expect([text.includes('fairMiddleware'), /["'`]node:/.test(text)]).toEqual([true, false])
  })
})
