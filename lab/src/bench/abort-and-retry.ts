/**
 * How many handlers a gate with a limit of 2 lets run at once when clients abort and retry: eight clients, each of
 * which leaves after 15 ms, against a handler that works for 500 ms, for 1.5 s. The figures of
 * `docs/decisions/release-rule.md`.
 */
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGate } from '@fairlead/core'
import { limitStage } from '@fairlead/core/testing'
import { type FairMiddleware, fairMiddleware } from '@fairlead/express'
import express, { type RequestHandler } from 'express'
import { printTable } from './table.js'

const CLIENTS = 8
const LEAVE_AFTER_MS = 15
const WORK_MS = 500
const LAST_MS = 1_500

/** How the handler is mounted, and whether its work observes the signal. */
const forms: Record<string, (fair: FairMiddleware, work: RequestHandler) => RequestHandler> = {
  'ends with the response': (_fair, work) => work,
  'the same, work stops at req.fair.signal': (_fair, work) => work,
  'fair.wrap(handler)': (fair, work) => fair.wrap(work),
}

async function measure(form: string): Promise<readonly [most: number, started: number, refused: number]> {
  const gate = createGate({ fair: false, stages: [limitStage(2)] })
  const fair = fairMiddleware({ gate })
  let running = 0
  let most = 0
  let started = 0
  const work: RequestHandler = async (req, res) => {
    started++
    most = Math.max(most, ++running)
    const signal = form.includes('signal') ? req.fair?.signal : undefined
    await sleep(WORK_MS, undefined, { signal }).catch(() => {})
    running--
    res.send('done')
  }
  const app = express()
  app.use(fair)
  app.get('/', forms[form]?.(fair, work) ?? work)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const until = performance.now() + LAST_MS
  const client = async (): Promise<void> => {
    while (performance.now() < until) {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
      await sleep(LEAVE_AFTER_MS)
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  await sleep(WORK_MS + 100)
  server.close()
  const { inFlight, refused } = gate.snapshot()
  if (inFlight !== 0) throw new Error(`${inFlight} permits were never given back`)
  return [most, started, refused]
}

const rows: string[][] = []
for (const form of Object.keys(forms)) rows.push([form, ...(await measure(form)).map(String)])
printTable(['the permit', 'most handlers at once', 'handlers started', 'refused'], rows)
