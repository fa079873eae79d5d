import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createGate, type Gate } from '@fairlead/core'
import { limitStage, probeStage, seededRandom } from '@fairlead/core/testing'
import type { HttpBindings } from '@hono/node-server'
import { Hono } from 'hono'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type NodeApp, serveApp } from './fixtures/hono-harness.js'
import { fairMiddleware } from './index.js'

const REQUESTS = 10_000
const AT_ONCE = 50
const SEED = 7

/** What the client has seen of its request when it leaves. */
const moments = [
  'its arrival',
  'the first bytes of the answer',
  'nothing',
  'the arrival of five in one packet',
] as const

/** What Node says about the process meanwhile, and should not. */
const complaints: unknown[] = []
const complain = (what: unknown): void => {
  complaints.push(what)
}
beforeEach(() => {
  process.on('warning', complain)
  process.on('unhandledRejection', complain)
})
afterEach(() => {
  process.off('warning', complain)
  process.off('unhandledRejection', complain)
})

describe('clients that are killed', () => {
  it(`${REQUESTS} times, at any moment of their requests, leave nothing behind`, async () => {
    const random = seededRandom(SEED)
    const probe = probeStage()
    // So narrow that many of those that leave are waiting.
    const gate = createGate({ fair: false, stages: [probe, limitStage(20, { waiters: 10_000 })] })
    const arrivals = new Map<string, () => void>()
    const { port, close } = await serveApp(appOf(gate, arrivals))

    let sent = 0
    let arrived = 0
    const begin = async (id: number): Promise<Socket> => {
      const moment = moments[Math.floor(random() * moments.length)]!
      const streams = moment === 'the first bytes of the answer'
      const path = `/${streams ? 'stream' : 'work'}/${id}`
      const count = moment === moments[3] ? 5 : 1
      sent += count
      let here = 0
      const all = new Promise<void>((resolve) => {
        arrivals.set(path, () => {
          arrived++
          if (++here === count) resolve()
        })
      })
      const client = connect(port, '127.0.0.1')
      client.on('error', () => {})
      await once(client, 'connect')
      client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(count))
      // Those that wait for a place see no answer, and leave when they have arrived.
      if (moment !== 'nothing') await all
      if (streams && gate.snapshot().waiting === 0) await once(client, 'data')
      return client
    }
    const leave = async (client: Socket): Promise<void> => {
      const closed = once(client, 'close')
      if (random() < 0.5) client.resetAndDestroy()
      else client.destroy()
      await closed
    }

    for (let id = 0; sent < REQUESTS; id += AT_ONCE) {
      const clients = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => begin(id + i)))
      await Promise.all(clients.map(leave))
    }
    // Requests that nobody saw arrive may still be on their way in.
    await close()
    await emptied(gate)
    const { admitted, finished, refusedBy } = gate.snapshot()
    const gone = refusedBy['gate:gone'] ?? 0
    expect(gone).toBeGreaterThan(REQUESTS / 10)
    expect(admitted).toBeGreaterThan(REQUESTS / 10)
    expect(admitted + gone).toBe(arrived)
    expect(finished).toEqual({ success: 0, failure: 0, ignored: admitted })
    expect([probe.outstanding, probe.doubled]).toEqual([0, 0])
    expect(complaints).toEqual([])
  }, 120_000)
})

/** Handlers that work, or stream, until the client has left. */
function appOf(gate: Gate, arrivals: ReadonlyMap<string, () => void>): NodeApp {
  const app: NodeApp = new Hono<{ Bindings: HttpBindings }>()
  app.use(async (c, next) => {
    const passing = next()
    arrivals.get(c.req.path)?.()
    await passing
  })
  app.use(fairMiddleware({ gate, onWarning: () => {} }))
  app.get('/work/*', async (c) => {
    const signal = c.get('fair')?.signal
    if (signal?.aborted === false) await once(signal, 'abort')
    return c.text('too late')
  })
  app.get('/stream/*', (c) =>
    c.body(new ReadableStream({ start: (it) => it.enqueue(new TextEncoder().encode('one')) })),
  )
  return app
}

/** Waits until the gate holds nothing; a leak shows as a timeout. */
function emptied(gate: Gate): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      const { inFlight, waiting } = gate.snapshot()
      if (inFlight === 0 && waiting === 0) resolve()
    }
    gate.observe(() => queueMicrotask(look))
    look()
  })
}
