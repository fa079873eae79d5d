import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { createGate, refuse, type Stage } from '@fairlead/core'
import { settled, World } from '@fairlead/core/testing'
import express from 'express'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Events } from './fixtures/events.js'
import { type Mount, mounts, served } from './fixtures/mounts.js'
import { type Auth, type ConsoleOptions, type FairConsole, fairConsole } from './index.js'

/** An `auth` that answers when the test says so. */
class SlowAuth {
  readonly #answers: ((said: boolean) => void)[] = []
  readonly auth: Auth = () => new Promise<boolean>((resolve) => this.#answers.push(resolve))

  get asked(): number {
    return this.#answers.length
  }

  answer(said = true): void {
    for (const answer of this.#answers.splice(0)) answer(said)
  }
}

const unhandled: unknown[] = []
const note = (error: unknown): void => void unhandled.push(error)

beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', note)
  process.on('uncaughtException', note)
})

afterEach(async () => {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  process.off('uncaughtException', note)
  expect(unhandled).toEqual([])
})

function watched(options: ConsoleOptions = {}): { world: World; page: FairConsole } {
  const world = new World()
  const { clock, after } = world
  const gate = createGate({ clock, after, fair: false })
  return { world, page: fairConsole(gate, { clock, after, auth: false, ...options }) }
}

/** Mounts with Node's own responses, behind a layer that answers 503 when the test says so. */
function behindTimeOut(page: FairConsole, mount: 'node:http' | 'Express'): [RequestListener, () => void] {
  const open: ServerResponse[] = []
  const handle = mount === 'Express' ? express().use('/fairlead', page) : page
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    open.push(response)
    void (handle as RequestListener)(request, response)
  }
  return [
    listener,
    () => {
      for (const response of open.splice(0)) response.writeHead(503).end('too slow')
    },
  ]
}

describe.each(['node:http', 'Express'] as const)('behind a time-out, in %s', (mount) => {
  it.each(['/fairlead', '/fairlead?events', '/fairlead?why="a"'])(
    'leaves the answer that was given, and the process alive: %s',
    async (path) => {
      const slow = new SlowAuth()
      const { page, world } = watched({ auth: slow.auth })
      const [listener, timeOut] = behindTimeOut(page, mount)
      const { ask, close } = await served(listener)
      const answer = ask(path)
      await expect.poll(() => slow.asked).toBe(1)
      timeOut()
      expect((await answer).status).toBe(503)
      slow.answer()
      await settled()
      expect(page.viewers).toBe(0)
      expect(world.timers).toBe(0)
      await close()
    },
  )
})

it('disconnects a viewer whose response other code ends', async () => {
  const { page, world } = watched()
  const open: ServerResponse[] = []
  const { ask, close } = await served((request, response) => {
    open.push(response)
    void page(request, response)
  })
  await ask('/?events')
  expect(page.viewers).toBe(1)
  open[0]!.end()
  world.advance(1_000)
  await expect.poll(() => page.viewers).toBe(0)
  await close()
})

describe('a client that leaves while auth is asked', () => {
  it('is no viewer, over HTTP/1', async () => {
    const slow = new SlowAuth()
    const { page, world } = watched({ auth: slow.auth })
    const gone: Promise<unknown>[] = []
    const { origin, close } = await served((request, response) => {
      gone.push(once(response, 'close'))
      void page(request, response)
    })
    const socket = connect(Number(new URL(origin).port), '127.0.0.1')
    socket.write('GET /?events HTTP/1.1\r\nHost: a\r\n\r\n')
    await expect.poll(() => slow.asked).toBe(1)
    socket.destroy()
    await gone[0]
    slow.answer()
    await settled()
    expect(page.viewers).toBe(0)
    expect(world.timers).toBe(0)
    await close()
  })

  it('is no viewer, over HTTP/2, and others of its connection stay', async () => {
    const slow = new SlowAuth()
    const { page, world } = watched({ auth: slow.auth })
    const gone: Promise<unknown>[] = []
    const server = createHttp2Server((request, response) => {
      gone.push(once(response, 'close'))
      void page(request, response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const leaves = client.request({ ':path': '/?events' })
    const stays = client.request({ ':path': '/?events' })
    await expect.poll(() => slow.asked).toBe(2)
    leaves.close(8)
    await gone[0]
    slow.answer()
    await once(stays, 'response')
    await settled()
    expect(page.viewers).toBe(1)
    stays.close(8)
    await gone[1]
    await expect.poll(() => page.viewers).toBe(0)
    expect(world.timers).toBe(0)
    client.destroy()
    server.close()
  })
})

it('sends all viewers of one connection away with it, also those whose turn to be answered never came', async () => {
  const { page, world } = watched()
  const sockets: Socket[] = []
  const warnings: Error[] = []
  const warn = (warning: Error): void => void warnings.push(warning)
  process.on('warning', warn)
  const server = createServer(page).listen(0, '127.0.0.1')
  server.on('connection', (socket: Socket) => sockets.push(socket))
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {}) // unread data turns its end into a reset
  client.write('GET /?events HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20))
  await expect.poll(() => page.viewers).toBe(20)
  const closed = new Promise((resolve) => sockets[0]!.once('close', resolve))
  client.destroy()
  await closed
  await expect.poll(() => page.viewers).toBe(0)
  expect(world.timers).toBe(0)
  expect(warnings).toEqual([])
  process.off('warning', warn)
  server.close()
})

describe('once it is closed', () => {
  it.each(['', '?events', '?events&record', '?why="a"', '?worker', '?act=block'])(
    'answers 503 to %j, regardless of auth, and does not call it again',
    async (query) => {
      let asked = 0
      const { page, world } = watched({ auth: () => ++asked > 0 })
      page.close()
      const answer = await page(new Request(`http://host/${query}`))
      expect(answer.status).toBe(503)
      expect([page.viewers, world.timers, asked]).toEqual([0, 0, 0])
    },
  )

  it.each(Object.entries(mounts))('lets a server end, although auth never answers, in %s', async (_, mount) => {
    const slow = new SlowAuth()
    const { page } = watched({ auth: slow.auth })
    const { ask, close } = await (mount as Mount)(page)
    const answers = [ask('/fairlead'), ask('/fairlead?events')]
    await expect.poll(() => slow.asked).toBe(2)
    page.close()
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([503, 503])
    expect(page.viewers).toBe(0)
    slow.answer()
    await settled()
    expect(page.viewers).toBe(0)
    await close()
  })

  it('keeps no connection for a next request', async () => {
    const { page } = watched()
    const { ask, close } = await served((request, response) => void page(request, response))
    expect((await ask('/')).headers.get('connection')).toBe('keep-alive')
    page.close()
    const answer = await ask('/')
    expect([answer.status, answer.headers.get('connection')]).toEqual([503, 'close'])
    await close()
  })

  it('answers over HTTP/2, where connections have no such field', async () => {
    const { page } = watched()
    const warnings: unknown[] = []
    const warn = (warning: unknown): void => void warnings.push(warning)
    process.on('warning', warn)
    const server = createHttp2Server((request, response) => void page(request, response)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    page.close()
    const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const asked = client.request({ ':path': '/' }).resume()
    const [head] = await once(asked, 'response')
    expect(head).toMatchObject({ ':status': 503 })
    expect(head).not.toHaveProperty('connection')
    await once(asked, 'close')
    client.close()
    server.close()
    await once(server, 'close')
    process.off('warning', warn)
    expect(warnings).toEqual([])
  })

  it('lets server.close() end with those who waited for auth', async () => {
    const slow = new SlowAuth()
    const { page } = watched({ auth: slow.auth })
    const server = createServer(page).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const client = connect(port, '127.0.0.1')
    client.write('GET /?events HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    client.resume()
    await expect.poll(() => slow.asked).toBe(1)
    const over = once(server, 'close')
    server.close()
    page.close()
    await over
  })
})

describe('what goes wrong elsewhere', () => {
  const throwing: Readonly<Record<string, Auth>> = {
    throws: () => {
      throw new Error('the session store is away')
    },
    rejects: () => Promise.reject(new Error('the session store is away')),
    'rejects with nothing': () => Promise.reject(),
  }

  it.each(Object.entries(mounts))('in auth is answered with 500, in %s', async (_, mount) => {
    for (const auth of Object.values(throwing)) {
      const { page } = watched({ auth })
      const { ask, close } = await (mount as Mount)(page)
      for (const path of ['/fairlead', '/fairlead?events']) {
        const answer = await ask(path)
        expect([answer.status, await answer.text()]).toEqual([500, 'auth failed.\n'])
      }
      await close()
    }
  })

  it('after close, in auth that was asked before, is not heard of', async () => {
    let fail = (_error: Error): void => {}
    const { page } = watched({ auth: () => new Promise((_, reject) => (fail = reject)) })
    const answer = page(new Request('http://host/'))
    page.close()
    expect((await answer).status).toBe(503)
    fail(new Error('the session store is away'))
  })

  it('in what stands between the console and the connection ends the response', async () => {
    const { page, world } = watched()
    const { ask, close } = await served((request, response) => {
      response.writeHead = () => {
        throw new Error('a header of somebody else')
      }
      void page(request, response)
    })
    await expect(ask('/')).rejects.toThrow()
    await expect(ask('/?events')).rejects.toThrow()
    expect([page.viewers, world.timers]).toEqual([0, 0])
    await close()
  })

  it('in headers that other code added to a request is answered with 400', async () => {
    const { page } = watched()
    const { ask, close } = await served((request, response) => {
      Object.assign(request.headers, { odd: 'a\nb' })
      void page(request, response)
    })
    expect((await ask('/')).status).toBe(400)
    await close()
  })

  it('keeps each cookie of an answer of auth, as a login sets them', async () => {
    const headers = new Headers([
      ['set-cookie', 'state=1; Path=/'],
      ['set-cookie', 'nonce=2, 3'],
    ])
    const { page } = watched({ auth: () => new Response(null, { status: 403, headers }) })
    const { ask, close } = await served((request, response) => void page(request, response))
    const answer = await ask('/')
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, ['state=1; Path=/', 'nonce=2, 3']])
    await close()
  })

  it('in the snapshot of a stage delays a frame', async () => {
    let isOdd = true
    const odd: Stage = {
      name: 'fair',
      admit: () => refuse('fair', 'no', false, 1),
      snapshot: () => ({
        get engaged() {
          if (isOdd) throw new Error('odd')
          return true
        },
      }),
    }
    const world = new World()
    const { clock, after } = world
    const gate = createGate({ fair: false, stages: [odd], clock, after })
    const written: string[] = []
    const fleet = { write: (_: string, frame: string) => written.push(frame), read: () => [] }
    const page = fairConsole(gate, { clock, after, auth: false, fleet })
    const events = new Events(await page(new Request('http://host/?events')))
    gate.admit({ flow: 'a' })
    world.advance(1_000)
    isOdd = false
    world.advance(1_000)
    expect(await events.frame()).toMatchObject({ seconds: 2, asked: 1, fair: { engaged: true } })
    expect(written).toHaveLength(1)
    page.close()
  })
})
