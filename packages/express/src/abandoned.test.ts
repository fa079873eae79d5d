import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createGate } from '@fairlead/core'
import { limitStage, probeStage } from '@fairlead/core/testing'
import express, { type Request, type Response } from 'express'
import { describe, expect, it } from 'vitest'
import { listen } from './fixtures/express-harness.js'
import { fairMiddleware } from './index.js'

const REQUESTS = 10_000
const PIPELINED = 5
const AT_ONCE = 50

const ways = ['before the answer', 'in the middle of it', 'pipelined'] as const

describe('clients that are killed', () => {
  it(`${REQUESTS} times, in the middle of their requests, leave nothing behind`, async () => {
    const probe = probeStage()
    // So narrow that many of those that leave are waiting.
    const gate = createGate({ fair: false, stages: [probe, limitStage(40, { waiters: 10_000 })] })
    const fair = fairMiddleware({ gate })
    const app = express()
    const arrivals = new Map<string, () => void>()
    app.use((req: Request, _res: Response, next) => {
      next()
      arrivals.get(req.path)?.()
    })
    app.use(fair)
    app.get(/^\/begun/, (_req: Request, res: Response) => {
      res.write('the first part')
    })
    app.use(() => {
      // Never answers.
    })
    const { port, close } = await listen(app)

    let sent = 0
    const begin = async (id: number): Promise<Socket> => {
      const way = ways[id % ways.length]
      const path = `/${way === 'in the middle of it' ? 'begun' : 'never'}/${id}`
      const count = way === 'pipelined' ? PIPELINED : 1
      sent += count
      let arrived = 0
      const all = new Promise<void>((resolve) => {
        arrivals.set(path, () => {
          if (++arrived === count) resolve()
        })
      })
      const client = connect(port, '127.0.0.1')
      client.on('error', () => {})
      await once(client, 'connect')
      client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(count))
      await all
      arrivals.delete(path)
      return client
    }

    for (let id = 0; sent < REQUESTS; id += AT_ONCE) {
      // All are there before the first one leaves: then some run, and the others wait for them.
      const clients = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => begin(id + i)))
      await Promise.all(clients.map((client, i) => leave(client, id + i)))
    }
    await emptied(gate)
    const { admitted, finished, refusedBy } = gate.snapshot()
    expect(finished).toEqual({ success: 0, failure: 0, ignored: admitted })
    const gone = refusedBy['gate:gone'] ?? 0
    expect(gone).toBeGreaterThan(0)
    expect(admitted + gone).toBe(sent)
    expect([probe.outstanding, probe.doubled]).toEqual([0, 0])
    await close()
  }, 60_000)
})

/** With a reset, or with a farewell. */
async function leave(client: Socket, id: number): Promise<void> {
  const closed = once(client, 'close')
  if (id % 3 === 0) client.resetAndDestroy()
  else client.destroy()
  await closed
}

/** Waits until the gate holds nothing; a leak shows as a timeout. */
function emptied(gate: ReturnType<typeof createGate>): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      const { inFlight, waiting } = gate.snapshot()
      if (inFlight === 0 && waiting === 0) resolve()
    }
    gate.observe(() => queueMicrotask(look))
    look()
  })
}
