import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { budgetStage, WeightedFairEscrow } from '@fairlead/core/escrow'
import { eventually } from '@fairlead-testing/waiting'
import type { Request, Response } from 'express'
import { describe, expect, it } from 'vitest'
import { majors } from './fixtures/express-harness.js'
import { fairMiddleware } from './index.js'

describe.each(majors)('%s', (_, express) => {
  it('charges a budget as a response streams, and settles it when the response is over', async () => {
    const escrow = new WeightedFairEscrow({ limit: 1_000, windowMs: 600_000 })
    const app = express()
    app.use(
      fairMiddleware({ flow: () => 'team', cost: () => 3, fair: false, shed: false, budget: budgetStage(escrow) }),
    )
    let more = (): void => {}
    app.get('/', async (req: Request, res: Response) => {
      for (let piece = 0; piece < 3; piece++) {
        req.fair?.permit?.charge(5)
        res.write('piece')
        await new Promise<void>((resolve) => {
          more = resolve
        })
      }
      res.end()
    })
    const server = createServer(app)
    server.listen(0)
    await once(server, 'listening')
    try {
      const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
      const reader = response.body!.getReader()
      for (const used of [5, 10, 15]) {
        await reader.read()
        expect(escrow.snapshot().used).toBe(used)
        more()
      }
      expect((await reader.read()).done).toBe(true)
      await eventually(() => expect(escrow.snapshot()).toMatchObject({ used: 15 }))
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
