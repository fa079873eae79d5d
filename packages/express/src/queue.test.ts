import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { adaptive, type QueueOptions, requestQueue } from '@fairlead/core/queue'
import { manualClock } from '@fairlead/core/testing'
import { eventually } from '@fairlead-testing/waiting'
import express, { type Request } from 'express'
import { afterEach, describe, expect, it } from 'vitest'
import { type FairMiddleware, fairMiddleware } from './index.js'

/** A server whose handlers end when the test says so, in the order in which they began. */
class Rig {
  readonly fair: FairMiddleware
  readonly begun: string[] = []
  readonly #server: Server
  readonly #ends: (() => void)[] = []

  constructor(queue: QueueOptions | undefined) {
    // The clock stands still, so that a busy machine causes no time-outs.
    const options = {
      flow: (req: Request) => req.get('x-client'),
      fair: false,
      shed: false,
      clock: manualClock(),
    } as const
    this.fair = fairMiddleware({ ...options, queue: queue === undefined ? false : requestQueue(queue) })
    const app = express()
    app.use(this.fair)
    app.get('/', (req, res) => {
      this.begun.push(req.get('x-client') ?? '')
      this.#ends.push(() => res.send('done'))
    })
    this.#server = app.listen(0, '127.0.0.1')
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async listening(): Promise<void> {
    if (!this.#server.listening) await once(this.#server, 'listening')
  }

  ask(client: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.port}/`, { headers: { 'x-client': client } })
  }

  /** Waits until this number of handlers runs and this number of requests waits. */
  async holds(running: number, waiting: number): Promise<void> {
    await eventually(() => expect(this.fair.gate.snapshot()).toMatchObject({ inFlight: running, waiting }))
  }

  endOne(): void {
    this.#ends.shift()?.()
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

let rig: Rig
async function start(queue?: QueueOptions): Promise<Rig> {
  rig = new Rig(queue)
  await rig.listening()
  return rig
}
afterEach(() => rig.close())

describe('a queue in front of Express', () => {
  it('runs as many handlers as the capacity allows, and serves waiting requests in fair turns', async () => {
    await start({ concurrency: 2 })
    const loud = Array.from({ length: 8 }, () => rig.ask('loud'))
    await rig.holds(2, 6)
    const quiet = rig.ask('quiet')
    await rig.holds(2, 7)
    for (let served = 0; served < 9; served++) {
      await eventually(() => expect(rig.begun.length).toBeGreaterThan(served))
      expect(rig.begun.length - served).toBeLessThanOrEqual(2)
      rig.endOne()
    }
    const answers = await Promise.all([...loud, quiet])
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    // The loud flow has both slots, so its next turn is skipped: the first free slot goes to the quiet one.
    expect(rig.begun.indexOf('quiet')).toBe(2)
    await rig.holds(0, 0)
  })

  it('answers 503 with Retry-After where no more may wait, and lets the quiet push out the loud', async () => {
    await start({ concurrency: 1, perFlowLimit: 2, maxWaiting: 2 })
    const running = rig.ask('loud')
    await rig.holds(1, 0)
    const waiting = [rig.ask('loud'), rig.ask('loud')]
    await rig.holds(1, 2)
    const tooMany = await rig.ask('loud')
    expect(tooMany.status).toBe(503)
    expect(Number(tooMany.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(tooMany.headers.get('content-type')).toBe('application/problem+json')
    expect(await tooMany.json()).toMatchObject({ status: 503, 'violated-policies': ['queue'] })
    const quiet = rig.ask('quiet')
    const evicted = await Promise.race(waiting)
    expect(evicted.status).toBe(503)
    for (let served = 1; served <= 3; served++) {
      await eventually(() => expect(rig.begun.length).toBe(served))
      rig.endOne()
    }
    expect((await quiet).status).toBe(200)
    expect((await running).status).toBe(200)
    expect((await Promise.all(waiting)).map(({ status }) => status).toSorted()).toEqual([200, 503])
    await rig.holds(0, 0)
    expect(rig.fair.gate.snapshot().refusedBy).toEqual({ 'queue:flow-full': 1, 'queue:evicted': 1 })
  })

  it('never runs the handler of a client that left while it waited', async () => {
    await start({ concurrency: 1 })
    const running = rig.ask('a')
    await rig.holds(1, 0)
    const leaving = connect(rig.port, '127.0.0.1')
    leaving.write('GET / HTTP/1.1\r\nHost: localhost\r\nx-client: b\r\n\r\n')
    await rig.holds(1, 1)
    leaving.destroy()
    await rig.holds(1, 0)
    rig.endOne()
    expect((await running).status).toBe(200)
    await rig.holds(0, 0)
    expect(rig.begun).toEqual(['a'])
    expect(rig.fair.gate.snapshot().refusedBy).toEqual({ 'gate:gone': 1 })
  })

  it('may learn its capacity', async () => {
    await start({ concurrency: adaptive({ initial: 1, max: 1 }) })
    const asked = [rig.ask('a'), rig.ask('b')]
    await rig.holds(1, 1)
    rig.endOne()
    await eventually(() => expect(rig.begun.length).toBe(2))
    rig.endOne()
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200])
    await rig.holds(0, 0)
  })
})
