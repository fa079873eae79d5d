import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { eventually } from '@fairlead-testing/waiting'
import type { Request, Response } from 'express'
import { describe, expect, it } from 'vitest'
import { majors } from './fixtures/express-harness.js'
import { fairMiddleware, requestQueue } from './index.js'

describe.each(majors)('%s', (_, express) => {
  it('is fair between accounts, and between the keys of each, where the flow is a path', async () => {
    const app = express()
    const fair = fairMiddleware({
      flow: (req) => [req.get('x-account') ?? 'none', req.get('x-key') ?? 'none'],
      fair: false,
      shed: false,
      queue: requestQueue({ concurrency: 1, maxWaitMs: 60_000 }),
    })
    app.use(fair)
    const started: string[] = []
    const open: Response[] = []
    app.get('/', (req: Request, res: Response) => {
      started.push(req.fair?.permit?.path?.join('/') ?? '')
      open.push(res)
    })
    const server = createServer(app)
    server.listen(0)
    await once(server, 'listening')
    const answers: Promise<unknown>[] = []
    const ask = async (account: string, key: string): Promise<void> => {
      const { port } = server.address() as AddressInfo
      answers.push(fetch(`http://127.0.0.1:${port}/`, { headers: { 'x-account': account, 'x-key': key } }))
      const asked = answers.length
      await eventually(() => expect(fair.gate.snapshot().waiting + started.length).toBe(asked))
    }
    try {
      await ask('first', 'a')
      for (let key = 0; key < 6; key++) await ask('many', `${key}`)
      for (let i = 0; i < 2; i++) await ask('few', 'a')
      for (let ended = 0; ended < 9; ended++) {
        await eventually(() => expect(open.length).toBe(ended + 1))
        open[ended]!.end()
      }
      await Promise.all(answers)
      // It has one turn in the first round of accounts, and one in the second.
      expect(started.slice(1, 5).filter((flow) => flow === 'few/a').length).toBe(2)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
