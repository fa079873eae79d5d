import { createGate, type Stage } from '@fairlead/core'
import { requestQueue } from '@fairlead/core/queue'
import { limitStage, manualClock, probeStage } from '@fairlead/core/testing'
import { type Context, Hono } from 'hono'
import { etag } from 'hono/etag'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type FairMiddlewareOptions, fairMiddleware } from './index.js'

// Without one of Node's servers, the adapter behaves as on any other runtime.

const probe = () => probeStage()

function appWith(options: FairMiddlewareOptions, handler: (c: Context) => Response | Promise<Response>): Hono {
  const app = new Hono()
  app.use(fairMiddleware({ onWarning: () => {}, ...options }))
  app.all('*', handler)
  return app
}

/** A stream whose chunks, end and failure the test controls, and which reports its cancellation. */
function manualStream(): {
  stream: ReadableStream<Uint8Array>
  controller: ReadableStreamDefaultController<Uint8Array>
  cancelled: () => boolean
} {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let cancelled = false
  const stream = new ReadableStream<Uint8Array>({
    start(made) {
      controller = made
    },
    cancel() {
      cancelled = true
    },
  })
  return { stream, controller: controller!, cancelled: () => cancelled }
}

/** A promise that the test settles. */
function deferred(): { promise: Promise<void>; resolve: () => void; reject: (error: unknown) => void } {
  let resolve = (): void => {}
  let reject = (_error: unknown): void => {}
  const promise = new Promise<void>((onResolved, onRejected) => {
    resolve = onResolved
    reject = onRejected
  })
  return { promise, resolve, reject }
}

const bytes = new TextEncoder().encode('some')

describe('the end of a response, where only its body tells', () => {
  it('is there with the handler, for a body that is whole', async () => {
    const stage = probe()
    const bodies = ['text', bytes, new Blob(['blob']), new URLSearchParams('a=b'), null]
    for (const body of bodies) {
      const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, () => new Response(body))
      const response = await app.request('/')
      expect(stage.outstanding).toBe(0)
      expect(await response.text()).toBe(await new Response(body).text())
    }
    expect(stage.outcomes).toEqual(bodies.map(() => 'success'))
  })

  it('is the end of a stream, for a stream that is read', async () => {
    const stage = probe()
    const { stream, controller } = manualStream()
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, (c) =>
      c.body(stream, 200, { 'x-mine': '1', 'content-type': 'text/event-stream' }),
    )
    const response = await app.request('/')
    expect(response.headers.get('x-mine')).toBe('1')
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const reader = response.body!.getReader()
    controller.enqueue(bytes)
    expect((await reader.read()).value).toEqual(bytes)
    expect(stage.outstanding).toBe(1)
    controller.close()
    expect((await reader.read()).done).toBe(true)
    expect(stage.outcomes).toEqual(['success'])
  })

  it('is ignored, for a stream that its reader gives up; and its source hears of that', async () => {
    const stage = probe()
    const { stream, controller, cancelled } = manualStream()
    let signal: AbortSignal | undefined
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, (c) => {
      signal = c.get('fair')?.signal
      return c.body(stream)
    })
    const reader = (await app.request('/')).body!.getReader()
    controller.enqueue(bytes)
    await reader.read()
    await reader.cancel()
    expect(stage.outcomes).toEqual(['ignored'])
    expect([cancelled(), signal?.aborted, stage.doubled]).toEqual([true, true, 0])
  })

  it('is ignored, for a stream that breaks; and its reader hears of that', async () => {
    const stage = probe()
    const { stream, controller } = manualStream()
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, (c) => c.body(stream))
    const response = await app.request('/')
    controller.error(new Error('the source broke'))
    await expect(response.text()).rejects.toThrow('the source broke')
    expect(stage.outcomes).toEqual(['ignored'])
  })

  it('does not read ahead of its reader', async () => {
    const pull = vi.fn()
    const app = appWith({ fair: false, shed: false }, (c) => c.body(new ReadableStream({ pull }, { highWaterMark: 0 })))
    const response = await app.request('/')
    await new Promise((resolve) => setImmediate(resolve))
    expect(pull).not.toHaveBeenCalled()
    await response.body?.cancel()
  })

  it('is there with the handler, for HEAD, whose body is not read', async () => {
    const stage = probe()
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, (c) => c.body(manualStream().stream))
    await app.request('/', { method: 'HEAD' })
    expect(stage.outcomes).toEqual(['success'])
  })

  it('is there with the handler, for a stream that other code holds', async () => {
    const stage = probe()
    const { stream } = manualStream()
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, (c) => {
      const response = c.body(stream)
      stream.getReader()
      return response
    })
    await app.request('/')
    expect(stage.outcomes).toEqual(['success'])
  })

  it.each<[string, Record<string, string>, boolean]>([
    ['of unknown length is followed', {}, true],
    ['of known length is left as it is', { 'content-length': '4' }, false],
    ['that was chunked is followed, even if it was made anew', { 'transfer-encoding': 'chunked' }, true],
  ])('what was fetched %s', async (_name, headers, followed) => {
    const stage = probe()
    const fetched = (): Response => {
      const response = new Response('text', { headers })
      if (headers['transfer-encoding'] === undefined)
        Object.defineProperty(response, 'url', { value: 'https://example.org/' })
      return response
    }
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, fetched)
    const response = await app.request('/')
    expect(stage.outstanding).toBe(followed ? 1 : 0)
    expect(await response.text()).toBe('text')
    expect(stage.outcomes).toEqual(['success'])
  })

  it('follows a stream through etag, several gates, and headers that are set later', async () => {
    const [outer, inner] = [probe(), probe()]
    const app = new Hono()
    app.use(async (c, next) => {
      await next()
      c.header('x-after', '1')
    })
    app.use(etag())
    for (const stage of [outer, inner])
      app.use(fairMiddleware({ gate: createGate({ fair: false, stages: [stage] }), onWarning: () => {} }))
    app.get('/', (c) => {
      c.header('set-cookie', 'a=1')
      c.header('set-cookie', 'b=2', { append: true })
      return c.body(ReadableStream.from([bytes]))
    })
    const response = await app.request('/')
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(response.headers.get('x-after')).toBe('1')
    expect(response.headers.get('etag')).not.toBeNull()
    expect(await response.text()).toBe('some')
    expect([outer.outcomes, inner.outcomes]).toEqual([['success'], ['success']])
  })

  it.each<[string, unknown, string]>([
    ['a string', 'no error', 'ignored'],
    ['nothing', undefined, 'ignored'],
    ['no error, but a status', { status: 429 }, 'failure'],
  ])('is there with the handler that throws %s', async (_name, thrown, outcome) => {
    const stage = probe()
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, () => Promise.reject(thrown))
    await Promise.resolve(app.request('/')).catch(() => {})
    expect(stage.outcomes).toEqual([outcome])
  })

  it('is unknown where outer middleware throws the stream away: then the lease ends the permit', async () => {
    const clock = manualClock()
    const fair = fairMiddleware({ clock, fair: false, shed: false, permitTimeoutMs: 60_000, onWarning: () => {} })
    const app = new Hono()
    app.use(async (c, next) => {
      await next()
      c.res = new Response('mine')
    })
    app.use(fair)
    app.get('/', (c) => c.body(manualStream().stream))
    await (await app.request('/')).text()
    expect(fair.gate.snapshot().inFlight).toBe(1)
    clock.advance(60_000)
    fair.gate.wake()
    expect(fair.gate.snapshot()).toMatchObject({ inFlight: 0, expired: 1, finished: { ignored: 1 } })
  })

  it('is there with the handler, for an upgrade on Node, which has no response', async () => {
    const stage = probe()
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, (c) => c.body(null))
    await app.request('/', {}, { incoming: { socket: { remoteAddress: '198.51.100.9' } }, outgoing: undefined })
    expect(stage.passages.map(({ flow }) => flow)).toEqual(['ip:198.51.100.9'])
    expect(stage.outcomes).toEqual(['success'])
  })
})

describe('a client that leaves, where its signal tells', () => {
  it('before the request came here: nothing runs', async () => {
    const handler = vi.fn()
    const fair = fairMiddleware({ fair: false, shed: false })
    const app = new Hono().use(fair).get('/', handler)
    await app.request('/', { signal: AbortSignal.abort() })
    expect(handler).not.toHaveBeenCalled()
    expect(fair.gate.snapshot().refusedBy).toEqual({ 'gate:gone': 1 })
  })

  it('while its handler runs: the signal of fair fires, the permit is kept until the handler has settled', async () => {
    const stage = probe()
    const client = new AbortController()
    let settle = (): void => {}
    let signal: AbortSignal | undefined
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, (c) => {
      signal = c.get('fair')?.signal
      return new Promise<Response>((resolve) => {
        settle = () => resolve(c.text('too late'))
      })
    })
    const asked = app.request('/', { signal: client.signal })
    client.abort()
    expect([signal?.aborted, stage.outstanding]).toEqual([true, 1])
    settle()
    await asked
    expect(stage.outcomes).toEqual(['ignored'])
  })

  it('while it waits: it is gone at once, and its handler never runs', async () => {
    const handler = vi.fn()
    const client = new AbortController()
    const gate = createGate({ fair: false, stages: [limitStage(1, { waiters: 1 })] })
    gate.admit({ flow: 'somebody' })
    const failed = vi.fn()
    const app = appWith({ gate }, handler).onError(failed)
    const asked = app.request('/', { signal: client.signal })
    expect(gate.snapshot().waiting).toBe(1)
    client.abort()
    expect((await asked).status).toBe(499)
    expect(failed).not.toHaveBeenCalled()
    expect(gate.snapshot()).toMatchObject({ waiting: 0, refusedBy: { 'gate:gone': 1 } })
    expect(handler).not.toHaveBeenCalled()
  })
})

describe('a request that waits where timers die with the request that set them', () => {
  afterEach(() => vi.useRealTimers())

  function queued(): { app: Hono; fair: ReturnType<typeof fairMiddleware>; clock: ReturnType<typeof manualClock> } {
    const clock = manualClock()
    // The gate's timers never fire.
    const fair = fairMiddleware({
      clock,
      after: () => () => {},
      fair: false,
      shed: false,
      queue: requestQueue({ concurrency: 1, maxWaitMs: 1_000 }),
      onWarning: () => {},
    })
    return { app: new Hono().use(fair).get('/', (c) => c.text('done')), fair, clock }
  }

  it('has a timer of its own, and knows when it has waited for too long', async () => {
    vi.useFakeTimers()
    const { app, fair, clock } = queued()
    fair.gate.admit({ flow: 'somebody' })
    const asked = app.request('/')
    await vi.advanceTimersByTimeAsync(100)
    expect(fair.gate.snapshot().waiting).toBe(1)
    clock.advance(1_000)
    await vi.advanceTimersByTimeAsync(100)
    expect((await asked).status).toBe(503)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('stops its timer when it is admitted; what does not wait has none', async () => {
    vi.useFakeTimers()
    const { app, fair } = queued()
    expect((await app.request('/')).status).toBe(200)
    expect(vi.getTimerCount()).toBe(0)
    const permit = fair.gate.admit({ flow: 'somebody' })
    const asked = app.request('/')
    expect(vi.getTimerCount()).toBe(1)
    if (!(permit instanceof Promise) && permit.admitted) permit.finish('success')
    expect((await asked).status).toBe(200)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('stops its timer if the gate fails it', async () => {
    vi.useFakeTimers()
    const stuck: Stage = { name: 'stuck', admit: () => new Promise(() => {}) }
    const gate = createGate({ fair: false, stages: [stuck] })
    const asked = appWith({ gate }, (c) => c.text('done')).request('/')
    expect(vi.getTimerCount()).toBe(1)
    gate.close()
    expect((await asked).status).toBe(503)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('what servers tell beside the request', () => {
  const deno = (completed: Promise<void>): object => ({ remoteAddr: { hostname: '198.51.100.9' }, completed })

  it('Deno: the address, and when the response is over', async () => {
    const stage = probe()
    const { promise, resolve } = deferred()
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, (c) => c.text('done'))
    await app.request('/', {}, deno(promise))
    expect(stage.passages.map(({ flow }) => flow)).toEqual(['ip:198.51.100.9'])
    expect(stage.outstanding).toBe(1)
    resolve()
    await promise
    expect(stage.outcomes).toEqual(['success'])
  })

  it('Deno: that it could not be sent', async () => {
    const stage = probe()
    const { promise, reject } = deferred()
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, (c) => c.text('done'))
    await app.request('/', {}, deno(promise))
    reject(new Error('connection closed'))
    await promise.catch(() => {})
    expect(stage.outcomes).toEqual(['ignored'])
  })

  it('Deno: a signal that fires when the answer has been given means nothing', async () => {
    const stage = probe()
    const client = new AbortController()
    const { promise, resolve } = deferred()
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, (c) => c.text('done'))
    await app.request('/', { signal: client.signal }, deno(promise))
    client.abort()
    resolve()
    await promise
    expect(stage.outcomes).toEqual(['success'])
  })

  it('Bun: the address', async () => {
    const stage = probe()
    const app = appWith({ gate: createGate({ fair: false, stages: [stage] }) }, (c) => c.text('done'))
    const server = { requestIP: () => ({ address: '2001:db8::1' }) }
    await app.request('/', {}, server)
    await app.request('/', {}, { server })
    await app.request('/', {}, { requestIP: () => null })
    const flows = stage.passages.map(({ flow }) => flow)
    expect(flows).toEqual(['ip:2001:db8::/56', 'ip:2001:db8::/56', 'ip:unknown'])
  })

  it('nothing, in app.request(): an address that is not known, said once; headers are not believed', async () => {
    const stage = probe()
    const onWarning = vi.fn()
    const gate = createGate({ fair: false, stages: [stage] })
    const app = appWith({ gate, onWarning }, (c) => c.text('done'))
    const headers = { 'x-forwarded-for': '198.51.100.9', 'cf-connecting-ip': '198.51.100.9' }
    for (let i = 0; i < 12; i++) expect((await app.request('/', { headers })).status).toBe(200)
    expect(stage.passages.map(({ flow }) => flow)).toEqual(new Array(12).fill('ip:unknown'))
    expect(onWarning).toHaveBeenCalledOnce()
  })
})
