import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createGate } from '@fairlead/core'
import { limitStage, probeStage, seededRandom } from '@fairlead/core/testing'
import { Controller, Get, Res } from '@nestjs/common'
import type { AbstractHttpAdapter } from '@nestjs/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listen, platforms } from './fixtures/nest-harness.js'
import { type At, FairModule, FairPermit, type FairRequest } from './index.js'

const REQUESTS = 10_000
const PIPELINED = 5
const AT_ONCE = 50
const SEED = 20_261_120

const warnings: Error[] = []
const rejections: unknown[] = []
const onWarning = (warning: Error): void => void warnings.push(warning)
const onRejection = (reason: unknown): void => void rejections.push(reason)
beforeEach(() => void process.on('warning', onWarning).on('unhandledRejection', onRejection))
afterEach(() => void process.off('warning', onWarning).off('unhandledRejection', onRejection))

/** Works until its client is gone, as handlers should; some begin to answer before that. */
@Controller()
class App {
  @Get('obey')
  obey(@FairPermit() fair: FairRequest): Promise<string> {
    return new Promise((resolve) => fair.signal.addEventListener('abort', () => resolve('too late')))
  }

  @Get('begun')
  begun(@Res() res: Reply, @FairPermit() fair: FairRequest): Promise<void> {
    const raw = res.raw ?? res
    raw.write('the first part')
    return new Promise((resolve) => fair.signal.addEventListener('abort', () => resolve()))
  }

  @Get('done')
  done(): string {
    return 'done'
  }
}

interface Reply {
  write(text: string): unknown
  readonly raw?: Reply
}

describe.each(platforms)('on %s, clients that are killed', (_, adapter) => {
  it.each<At>(['interceptor', 'guard'])(
    `${REQUESTS} times, at random moments of their requests, leave nothing behind at the %s`,
    (at) => abandon(adapter(), at),
    120_000,
  )
})

async function abandon(adapter: AbstractHttpAdapter, at: At): Promise<void> {
  const random = seededRandom(SEED)
  const probe = probeStage()
  // So narrow that many of those that leave are waiting.
  const gate = createGate({ fair: false, stages: [probe, limitStage(40, { waiters: 10_000 })] })
  const { port, close } = await listen({ imports: [FairModule.forRoot({ gate, at })], controllers: [App] }, adapter)
  for (let sent = 0; sent < REQUESTS; ) {
    const clients = await Promise.all(Array.from({ length: AT_ONCE }, () => begin(port)))
    await Promise.all(
      clients.map(async (client) => {
        const path = ['/obey', '/begun', '/done'][Math.floor(random() * 3)]
        const count = random() < 0.2 ? PIPELINED : 1
        sent += count
        client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(count))
        for (let turns = Math.floor(random() * 8); turns > 0; turns--)
          await new Promise((resolve) => setImmediate(resolve))
        await leave(client, random() < 0.3)
      }),
    )
  }
  await emptied(gate)
  const { admitted, finished, refusedBy } = gate.snapshot()
  expect(admitted).toBeGreaterThan(REQUESTS / 20)
  expect(refusedBy['gate:gone']).toBeGreaterThan(0)
  expect(finished.failure).toBe(0)
  expect(finished.success + finished.ignored).toBe(admitted)
  expect([probe.outstanding, probe.doubled]).toEqual([0, 0])
  await close()
  expect([warnings, rejections]).toEqual([[], []])
}

async function begin(port: number): Promise<Socket> {
  const client = connect(port, '127.0.0.1')
  client.on('error', () => {})
  await once(client, 'connect')
  return client
}

/** With a reset, or with a farewell. */
async function leave(client: Socket, reset: boolean): Promise<void> {
  const closed = once(client, 'close')
  if (reset) client.resetAndDestroy()
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
