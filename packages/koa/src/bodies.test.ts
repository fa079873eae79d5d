import { connect, type Socket } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { createGate } from '@fairlead/core'
import { type ProbeStage, probeStage } from '@fairlead/core/testing'
import { eventually } from '@fairlead-testing/waiting'
import Koa3 from 'koa'
import { describe, expect, it } from 'vitest'
import { majors } from './fixtures/koa-harness.js'
import { serve } from './fixtures/serve.js'
import { fairMiddleware } from './index.js'

/** A body whose second half is sent when `finish` is called, and that fails there when `fail` is. */
interface OpenBody {
  body: unknown
  finish(): void
  fail(): void
}

function nodeStream(): OpenBody {
  const body = new PassThrough()
  body.write('first half, ')
  return { body, finish: () => body.end('second half'), fail: () => body.destroy(new Error('a body that breaks')) }
}

function webStream(): OpenBody & { body: ReadableStream } {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const write = (text: string): unknown => writer.write(new TextEncoder().encode(text)).catch(() => {})
  write('first half, ')
  return {
    body: readable,
    finish() {
      write('second half')
      writer.close().catch(() => {})
    },
    fail: () => void writer.abort(new Error('a body that breaks')).catch(() => {}),
  }
}

/** Koa 3 takes web bodies, too. */
const bodies: readonly (readonly [name: string, Koa: typeof Koa3, make: () => OpenBody])[] = [
  ...majors.map(([name, Koa]) => [`a stream, ${name}`, Koa, nodeStream] as const),
  ['a ReadableStream', Koa3, webStream],
  [
    'a web Response',
    Koa3,
    () => {
      const { body, ...ends } = webStream()
      return { ...ends, body: new Response(body) }
    },
  ],
]

/** A server that answers with `body`, and a client that has asked for it. */
async function ask(
  Koa: typeof Koa3,
  body: unknown,
): Promise<{ probe: ProbeStage; client: Socket; inFlight(): number }> {
  const probe = probeStage()
  const gate = createGate({ fair: false, stages: [probe] })
  const app = new Koa()
  app.use(fairMiddleware({ gate }))
  app.use((ctx) => {
    ctx.body = body
  })
  const client = connect((await serve(app)).port, '127.0.0.1').on('error', () => {})
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  return { probe, client, inFlight: () => gate.snapshot().inFlight }
}

/** Reads until `text` has arrived. */
function received(client: Socket, text: string): Promise<void> {
  let all = ''
  return new Promise((resolve) => {
    client.on('data', (chunk) => {
      all += chunk
      if (all.includes(text)) resolve()
    })
  })
}

describe.each(bodies)('%s as body', (name, Koa, make) => {
  it('holds the permit until its last byte is sent, though downstream has settled', async () => {
    const { body, finish } = make()
    const { probe, client, inFlight } = await ask(Koa, body)
    await received(client, 'first half')
    expect(inFlight()).toBe(1)
    finish()
    await received(client, 'second half')
    await eventually(() => expect(probe.outcomes).toEqual(['success']))
    expect(inFlight()).toBe(0)
    client.destroy()
  })

  it('is ignored if its client leaves in the middle of it', async () => {
    const { body } = make()
    const { probe, client } = await ask(Koa, body)
    await received(client, 'first half')
    client.destroy()
    await eventually(() => expect(probe.outcomes).toEqual(['ignored']))
  })

  // Koa 2 leaves such a response open until its client leaves, which is then its end.
  it('is ignored if it breaks in the middle', async () => {
    const { body, fail } = make()
    const { probe, client, inFlight } = await ask(Koa, body)
    await received(client, 'first half')
    fail()
    if (name.endsWith('Koa 2')) {
      await new Promise((resolve) => setImmediate(resolve))
      expect(inFlight()).toBe(1)
      client.destroy()
    }
    await eventually(() => expect(probe.outcomes).toEqual(['ignored']))
    client.destroy()
  })
})

describe('a Blob as body', () => {
  it('holds the permit until it is sent', async () => {
    // More than sockets buffer, so that it cannot be sent before the client reads it.
    const { probe, client, inFlight } = await ask(Koa3, new Blob([new Uint8Array(30_000_000)]))
    await new Promise((resolve) => client.once('readable', resolve))
    expect(inFlight()).toBe(1)
    client.resume()
    await eventually(() => expect(probe.outcomes).toEqual(['success']))
    client.destroy()
  })
})

describe('a stream without a reader', () => {
  it('is destroyed by Koa, and the permit is given back', async () => {
    const body = new Readable({ read: () => {} })
    const { probe, client } = await ask(Koa3, body)
    body.push('half')
    await received(client, 'half')
    client.resetAndDestroy()
    await eventually(() => expect([body.destroyed, probe.outcomes]).toEqual([true, ['ignored']]))
  })
})
