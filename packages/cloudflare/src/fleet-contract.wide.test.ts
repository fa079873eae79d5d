import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { fleetContract } from '@fairlead/testing'
import type { Miniflare } from 'miniflare'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { startWorkers } from './fixtures/start-workers.js'

const MEMBER = fileURLToPath(new URL('./fixtures/fleet-member.mjs', import.meta.url))

let workers: Miniflare
/** The way to the objects: what a worker's binding is to its isolates. */
let way: Server
let isCut = false
/** Another object has no memory of this one. */
let generation = 0

async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request)
  const url = `http://worker/report?object=clocks-${generation}`
  const answer = await workers.dispatchFetch(url, { method: 'POST', body })
  const lease = await answer.text()
  if (isCut) request.destroy()
  else response.writeHead(answer.status).end(lease)
}

/** Calls that wait for an answer end, too, as they do when an object is moved. */
function cut(): void {
  isCut = true
  way.closeAllConnections()
}

beforeAll(async () => {
  workers = await startWorkers()
  way = createServer((request, response) => {
    if (isCut) request.destroy()
    else pass(request, response).catch(() => request.destroy())
  }).listen(0, '127.0.0.1')
  await once(way, 'listening')
})
afterAll(async () => {
  way.close()
  await workers.dispose()
})

describe('processes that share a clock by way of a Durable Object in workerd', () => {
  const contract = fleetContract({
    start(load) {
      const { port } = way.address() as AddressInfo
      return fork(MEMBER, [`http://127.0.0.1:${port}`, JSON.stringify(load)], { execArgv: [] })
    },
    cut,
    mend() {
      isCut = false
    },
    async forget(alone) {
      cut()
      await alone()
      generation++
      isCut = false
    },
  })
  for (const { name, run, timeoutMs } of contract) it(name, run, timeoutMs)
})
