import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { escrow } from '@fairlead/core/escrow'
import { fixed, requestQueue } from '@fairlead/core/queue'
import { eventually } from '@fairlead-testing/waiting'
import express from 'express'
import { afterEach, describe, expect, it } from 'vitest'
import { fairMiddleware } from './index.js'

let server: Server | undefined
afterEach(() => {
  server?.close()
  server?.closeAllConnections()
})

describe('a route with a limit of its own, beside the gate of the application', () => {
  it('waits for slots of its own, as many as there are by now; other routes do not', async () => {
    const app = express()
    const everywhere = fairMiddleware({ shed: false })
    const slots = fixed(2)
    const reports = fairMiddleware({
      fair: false,
      shed: false,
      queue: requestQueue({ concurrency: slots, maxWaitMs: 60_000 }),
    })
    const ends: (() => void)[] = []
    app.use(everywhere)
    app.use('/reports', reports)
    app.get('/reports', (_req, res) => void ends.push(() => res.send('a report')))
    app.get('/', (_req, res) => void res.send('home'))
    server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const asked = Array.from({ length: 5 }, () => fetch(`${url}/reports`).then(({ status }) => status))
    await eventually(() => expect(reports.gate.snapshot()).toMatchObject({ inFlight: 2, waiting: 3 }))
    expect((await fetch(url)).status).toBe(200)
    slots.resize(4)
    await eventually(() => expect(reports.gate.snapshot()).toMatchObject({ inFlight: 4, waiting: 1 }))
    slots.resize(1)
    for (const end of ends.splice(0, 3)) end()
    await eventually(() => expect(reports.gate.snapshot()).toMatchObject({ inFlight: 1, waiting: 1 }))
    for (let i = 0; i < 2; i++) {
      await eventually(() => expect(ends).toHaveLength(1))
      ends.pop()?.()
    }
    expect(await Promise.all(asked)).toEqual([200, 200, 200, 200, 200])
    await eventually(() => expect(everywhere.gate.snapshot()).toMatchObject({ inFlight: 0, finished: { success: 6 } }))
  })

  it('spends from a budget of its own', async () => {
    const app = express()
    app.use(fairMiddleware({ shed: false }))
    const budget = escrow({ limit: 2, windowMs: 3_600_000 })
    app.use('/reports', fairMiddleware({ fair: false, shed: false, budget, clock: () => 0 }))
    app.use((_req, res) => void res.send('done'))
    server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const statuses: number[] = []
    for (const path of ['/reports', '/', '/reports', '/reports', '/']) statuses.push((await fetch(url + path)).status)
    expect(statuses).toEqual([200, 200, 200, 429, 200])
  })
})
