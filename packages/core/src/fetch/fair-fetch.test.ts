import { describe, expect, it, vi } from 'vitest'
import { createGate } from '../create-gate.js'
import { showFair } from '../http/context.js'
import { type Gate, refuse } from '../index.js'
import { requestQueue } from '../queue/index.js'
import { quota } from '../quota/index.js'
import { limitStage, probeStage } from '../testing/index.js'
import { fairFetch, fairOf } from './index.js'

const URL = 'http://localhost/'
const FULL = { name: 'full', admit: () => refuse('full', 'overload', true, 1_000) }
const quiet = { onWarning: (): void => {} }

function probed(): { probe: ReturnType<typeof probeStage>; options: { onWarning(): void; gate: Gate } } {
  const probe = probeStage()
  return { probe, options: { ...quiet, gate: createGate({ fair: false, stages: [probe] }) } }
}

describe('fairFetch', () => {
  it('hands on what stands behind the request, and options get it too', async () => {
    const { probe, options } = probed()
    const handle = fairFetch((request: Request, env: { tenant: string }) => new Response(request.url + env.tenant), {
      ...options,
      flow: (_request, env) => env.tenant,
    })
    expect(await (await handle(new Request(URL), { tenant: 'blue' })).text()).toBe(`${URL}blue`)
    expect(probe.passages.map(({ flow }) => flow)).toEqual(['blue'])
  })

  it('takes a header that is not there for no name, and goes by the address', async () => {
    const { probe, options } = probed()
    const flow = (request: Request): string | null => request.headers.get('x-tenant')
    const handle = fairFetch(() => new Response(), { ...options, flow, address: () => '203.0.113.7' })
    await handle(new Request(URL))
    await handle(new Request(URL, { headers: { 'x-tenant': 'blue' } }))
    expect(probe.passages.map(({ flow }) => flow)).toEqual(['ip:203.0.113.7', 'blue'])
  })

  it('lets the handler see its permit by the request; undefined where nothing was judged', async () => {
    const { options } = probed()
    const handle = fairFetch((request) => new Response(fairOf(request)?.permit?.flow), {
      ...options,
      flow: () => 'red',
    })
    expect(await (await handle(new Request(URL))).text()).toBe('red')
    expect(fairOf(new Request(URL))).toBeUndefined()
  })

  it('keeps the permit of a whole body until the handler has settled', async () => {
    const { probe, options } = probed()
    let settle = (): void => {}
    const handle = fairFetch(
      () => new Promise<Response>((resolve) => (settle = () => resolve(new Response('done')))),
      options,
    )
    const asked = handle(new Request(URL))
    expect(probe.outstanding).toBe(1)
    settle()
    await asked
    expect(probe.outcomes).toEqual(['success'])
  })

  it.each([undefined, null, 'a word'])('learns nothing from a handler that throws %j', async (thrown) => {
    const { probe, options } = probed()
    const handle = fairFetch(() => Promise.reject(thrown), options)
    await expect(handle(new Request(URL))).rejects.toBe(thrown)
    expect(probe.outcomes).toEqual(['ignored'])
  })

  it.each(['read', 'cancelled', 'broken'] as const)('keeps the permit of a stream until it was %s', async (how) => {
    const { probe, options } = probed()
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined
    const stream = new ReadableStream<Uint8Array>({
      start(made) {
        controller = made
      },
    })
    const response = await fairFetch(() => new Response(stream, { status: 201 }), options)(new Request(URL))
    expect([response.status, probe.outstanding]).toEqual([201, 1])
    if (how === 'cancelled') await response.body?.cancel()
    else {
      controller?.enqueue(new TextEncoder().encode('some'))
      if (how === 'read') controller?.close()
      else controller?.error(new Error('broken'))
      await response.text().catch(() => {})
    }
    expect(probe.outcomes).toEqual([how === 'read' ? 'success' : 'ignored'])
  })

  it.each([
    [200, 'success'],
    [404, 'success'],
    [429, 'failure'],
    [503, 'failure'],
    [500, 'ignored'],
  ])('judges an answer of %i: %s', async (status, outcome) => {
    const { probe, options } = probed()
    await fairFetch(() => new Response('done', { status }), options)(new Request(URL))
    expect(probe.outcomes).toEqual([outcome])
  })

  it('rejects with what the handler throws; a shortage is a failure, and its own error an answer', async () => {
    const { probe, options } = probed()
    const { ResourceExhaustedError } = await import('../index.js')
    const errors = [new Error('a bug'), Object.assign(new Error('full'), { status: 503 }), new ResourceExhaustedError()]
    const handle = fairFetch(() => Promise.reject(errors[0]), options)
    await expect(handle(new Request(URL))).rejects.toBe(errors.shift())
    await expect(handle(new Request(URL))).rejects.toBe(errors.shift())
    expect((await handle(new Request(URL))).status).toBe(503)
    expect(probe.outcomes).toEqual(['ignored', 'failure', 'failure'])
  })

  it('answers 503 where a handler that is skipped finds the resource exhausted, and rejects as it does', async () => {
    const { ResourceExhaustedError } = await import('../index.js')
    const bug = new Error('a bug')
    const errors = [new ResourceExhaustedError(), bug]
    const options = { ...quiet, shed: false as const, skip: () => true }
    const thrown = (): never => {
      throw errors.shift()
    }
    const handle = fairFetch(thrown, options)
    expect((await handle(new Request(URL))).status).toBe(503)
    await expect(handle(new Request(URL))).rejects.toBe(bug)
  })

  it('refuses with a problem document, or by the user’s handler, whose answer gets what it lacks', async () => {
    const options = { ...quiet, gate: createGate({ fair: false, stages: [FULL] }) }
    const plain = await fairFetch(() => new Response('never'), options)(new Request(URL))
    expect([plain.status, plain.headers.get('content-type')]).toEqual([503, 'application/problem+json'])
    const handler = vi.fn(() => Response.redirect('http://elsewhere/', 302))
    const own = await fairFetch(() => new Response('never'), { ...options, handler })(new Request(URL))
    expect([own.status, own.headers.get('location')]).toEqual([302, 'http://elsewhere/'])
    expect(own.headers.get('retry-after')).toMatch(/^[12]$/)
    const onWarning = vi.fn()
    const wrong = fairFetch(() => new Response('never'), { ...options, onWarning, handler: () => 'text' })
    expect(await (await wrong(new Request(URL))).json()).toMatchObject({ status: 503 })
    expect(onWarning).toHaveBeenCalledOnce()
  })

  it('leaves an answer without a body, which may serve many requests, as it was', async () => {
    const NOTHING = new Response(null, { status: 204, headers: { RateLimit: 'theirs' } })
    const budget = quota({ limit: 10, windowMs: 1_000 })
    const handle = fairFetch(() => NOTHING, {
      ...quiet,
      flow: () => 'a',
      rateLimit: 'always',
      quota: budget,
      clock: () => 0,
    })
    const told = [await handle(new Request(URL)), await handle(new Request(URL))]
    expect(told.map(({ headers }) => headers.get('ratelimit')?.replace(/;t=.*/, ''))).toEqual([
      'theirs, "quota";r=9',
      'theirs, "quota";r=8',
    ])
    expect([...NOTHING.headers]).toEqual([['ratelimit', 'theirs']])
  })

  it('leaves the answer of the user’s handler to refusals as it was', async () => {
    let seconds = 60
    const stage = { name: 'full', admit: () => refuse('full', 'full', false, seconds * 1_000) }
    const FULL = new Response(null, { status: 429 })
    const gate = createGate({ fair: false, stages: [stage] })
    const handle = fairFetch(() => new Response('never'), { ...quiet, gate, random: () => 0, handler: () => FULL })
    const first = await handle(new Request(URL))
    seconds = 2
    const second = await handle(new Request(URL))
    expect([first, second].map(({ headers }) => headers.get('retry-after'))).toEqual(['60', '2'])
    expect([...FULL.headers]).toEqual([])
  })

  it('does not run for a client that has left, nor for one that leaves while it waits', async () => {
    const gate = createGate({ fair: false, stages: [limitStage(1, { waiters: 1 })] })
    const handler = vi.fn(() => new Response('never'))
    const handle = fairFetch(handler, { ...quiet, gate })
    expect((await handle(new Request(URL, { signal: AbortSignal.abort() }))).status).toBe(499)
    gate.admit({ flow: 'somebody' })
    const client = new AbortController()
    const asked = handle(new Request(URL, { signal: client.signal }))
    expect(gate.snapshot().waiting).toBe(1)
    client.abort()
    expect((await asked).status).toBe(499)
    expect(handler).not.toHaveBeenCalled()
    expect(gate.snapshot()).toMatchObject({ waiting: 0, refusedBy: { 'gate:gone': 2 } })
  })

  it('keeps no timer for a client that has left while its name was looked up', async () => {
    vi.useFakeTimers()
    try {
      const handle = fairFetch(() => new Response('never'), { ...probed().options, flow: () => new Promise(() => {}) })
      const client = new AbortController()
      const asked = handle(new Request(URL, { signal: client.signal }))
      expect(vi.getTimerCount()).toBe(1)
      client.abort()
      expect((await asked).status).toBe(499)
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  it('fires the signal of a client that leaves while it is handled, and keeps the permit until that has settled', async () => {
    const { probe, options } = probed()
    const client = new AbortController()
    let settle = (): void => {}
    let signal: AbortSignal | undefined
    const asked = fairFetch((request) => {
      signal = fairOf(request)?.signal
      return new Promise<Response>((resolve) => (settle = () => resolve(new Response('late'))))
    }, options)(new Request(URL, { signal: client.signal }))
    client.abort()
    expect([signal?.aborted, probe.outstanding]).toEqual([true, 1])
    settle()
    await asked
    expect(probe.outcomes).toEqual(['ignored'])
  })

  it('tells of a budget, also on answers from elsewhere that nothing can be added to', async () => {
    const quota = { policy: 'budget', guarantee: 10, limit: 10, remaining: 9, windowMs: 60_000, resetAfterMs: 60_000 }
    const hold = { finish: () => {}, undo: () => {}, quota: () => quota }
    const gate = createGate({ fair: false, stages: [{ name: 'budget', admit: () => hold }] })
    const elsewhere = await fetch('data:text/plain,done')
    const handle = fairFetch(() => elsewhere, { ...quiet, gate, rateLimit: 'always' })
    const response = await handle(new Request(URL))
    expect([response.headers.get('ratelimit'), await response.text()]).toEqual(['"budget";r=9;t=60', 'done'])
  })

  it('one inside another: each hears the end; a gate that is passed twice judges once', async () => {
    const [outer, inner] = [probed(), probed()]
    const handle = fairFetch(
      fairFetch(
        fairFetch(() => new Response('done'), inner.options),
        outer.options,
      ),
      outer.options,
    )
    expect(await (await handle(new Request(URL))).text()).toBe('done')
    expect([outer.probe.outcomes, inner.probe.outcomes]).toEqual([['success'], ['success']])
  })

  it('knows the gate that Node’s request has passed before', async () => {
    const asked: unknown[] = []
    const visit = { judgedInside: () => asked.push('judged inside') }
    const incoming = Object.assign(Object.create(null), { socket: { remoteAddress: '203.0.113.1' } })
    showFair(incoming, visit as never)
    const gate = createGate({ fair: false, stages: [FULL] })
    const handle = fairFetch<[host?: object]>(() => new Response('never'), { ...quiet, gate })
    expect((await handle(new Request(URL), { incoming })).status).toBe(503)
    expect(asked).toEqual(['judged inside'])
  })

  it.each([
    { completed: true },
    { completed: null },
    { incoming: true },
    { incoming: null },
    { requestIP: true },
    { remoteAddr: 'x' },
  ])('takes %j beside a request for nothing of a server’s', async (host) => {
    const onWarning = vi.fn()
    const { options, probe } = probed()
    const handle = fairFetch<[host?: object]>(() => new Response('done'), { ...options, onWarning })
    expect(await (await handle(new Request(URL), host)).text()).toBe('done')
    expect(probe.passages).toMatchObject([{ flow: 'ip:unknown' }])
    expect(onWarning.mock.calls.flat().join()).not.toContain('failed')
  })

  it('believes the server, where it tells an address, and no header', async () => {
    const { probe, options } = probed()
    const handle = fairFetch<[host?: object]>(() => new Response('done'), options)
    const headers = { 'x-forwarded-for': '198.51.100.1', 'cf-connecting-ip': '198.51.100.2' }
    await handle(new Request(URL, { headers }), { requestIP: () => ({ address: '203.0.113.1' }) })
    await handle(new Request(URL, { headers }), {
      remoteAddr: { hostname: '203.0.113.2' },
      completed: Promise.resolve(),
    })
    await handle(new Request(URL, { headers }), { params: { id: '7' } })
    await handle(new Request(URL, { headers }))
    const flows = probe.passages.map(({ flow }) => flow)
    expect(flows).toEqual(['ip:203.0.113.1', 'ip:203.0.113.2', 'ip:unknown', 'ip:unknown'])
  })

  it('queues', async () => {
    const handle = fairFetch(() => new Response('done'), {
      ...quiet,
      fair: false,
      shed: false,
      queue: requestQueue({ concurrency: 1 }),
    })
    const replies = await Promise.all([1, 2, 3].map(() => handle(new Request(URL))))
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(handle.gate.snapshot()).toMatchObject({ inFlight: 0, waiting: 0, admitted: 3 })
  })

  it.each<[object, string]>([
    [{ flwo: () => 'a' }, 'fairFetch has no option "flwo"'],
    [{ flow: 'x-api-key' }, 'flow must be a function, got "x-api-key"'],
  ])('%j is refused', (options, message) => expect(() => fairFetch(() => new Response(), options)).toThrow(message))

  it('an answer of another kind, which cannot be followed, ends its permit and is an error', async () => {
    // Responses without web streams, as from packages that keep to Node's streams.
    const foreign = { status: 200, headers: new Headers(), body: { locked: false } }
    for (const answer of [foreign, { ...foreign, body: 'text' }, Response.error()]) {
      const handle = fairFetch(() => answer as never, { ...quiet, shed: false })
      await handle(new Request(URL)).catch(() => {})
      expect(handle.gate.snapshot().inFlight).toBe(0)
    }
  })

  it('a value that is no handler, and a handler that gives no answer, are errors that say so', async () => {
    expect(() => fairFetch({} as never)).toThrow('handler must be a function, got an object')
    const handle = fairFetch(() => undefined as never, { ...quiet, shed: false })
    await expect(handle(new Request(URL))).rejects.toThrow('a fetch handler must give a Response, got undefined')
    expect(handle.gate.snapshot()).toMatchObject({ inFlight: 0, finished: { success: 0, ignored: 1 } })
  })
})
