import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { createGate } from '@fairlead/core'
import express from 'express'
import { describe, expect, it } from 'vitest'
import { Events } from './fixtures/events.js'
import { mounts, served } from './fixtures/mounts.js'
import { basicAuth, fairConsole } from './index.js'

describe.each(Object.entries(mounts))('in %s', (_, mount) => {
  it('serves the page, its events and nothing to strangers, and hears a viewer leave', async () => {
    const gate = createGate()
    let ring = (): void => {}
    const page = fairConsole(gate, {
      auth: (request) => request.headers.get('authorization') === 'right' && 'ann',
      // The test triggers the next frame.
      after: (_ms, fn) => {
        ring = fn
        return () => {}
      },
    })
    const { ask, close } = await mount(page)
    try {
      expect((await ask('/fairlead')).status).toBe(403)
      expect((await ask('/fairlead?events')).status).toBe(403)
      const headers = { authorization: 'right' }
      const html = await ask('/fairlead', headers)
      expect(html.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(await html.text()).toContain('<title>gate · Fairlead</title>')
      const answer = await ask('/fairlead?events', headers)
      expect(answer.headers.get('content-type')).toContain('text/event-stream')
      const events = new Events(answer)
      const decision = await gate.admit({ flow: 'a' })
      if (decision.admitted) decision.finish('success')
      await expect.poll(() => page.viewers).toBe(1)
      ring()
      expect(await events.frame()).toMatchObject({ asked: 1, served: 1, flows: [{ flow: 'a' }] })
      await events.leave()
      await expect
        .poll(() => {
          ring()
          return page.viewers
        })
        .toBe(0)
      const why = await ask('/fairlead?why=%22a%22', headers)
      expect(await why.json()).toMatchObject({ fair: { engaged: false } })
    } finally {
      page.close()
      await close()
    }
  })
})

it.each(Object.entries(mounts))('gives the answer of auth itself to strangers, in %s', async (_, mount) => {
  for (const auth of [basicAuth({ ann: 'right' }), () => new Response('no', { status: 401 })]) {
    const page = fairConsole(createGate(), { auth })
    const { ask, close } = await mount(page)
    for (const path of ['/fairlead', '/fairlead?events', '/fairlead?why="a"'])
      for (const headers of [{}, { authorization: 'Basic YW5uOndyb25n' }])
        expect((await ask(path, headers)).status).toBe(401)
    expect(page.viewers).toBe(0)
    await close()
  }
})

it('lets no viewer in for an invalid result of auth', async () => {
  for (const said of [{}, [], 1, 0, null, Symbol('x'), () => true, { status: 200 }]) {
    const page = fairConsole(createGate(), { auth: () => said as never })
    expect((await page(new Request('http://host/'))).status).toBeGreaterThanOrEqual(403)
  }
})

it('hands auth what the framework gave', async () => {
  const seen: unknown[] = []
  const page = fairConsole<{ user?: string }>(createGate(), {
    auth: (_request, raw) => {
      seen.push(raw.user)
      return raw.user === 'ann'
    },
  })
  const app = express()
  app.use((request, _response, next) => {
    Object.assign(request, { user: request.headers['x-user'] })
    next()
  })
  app.use('/fairlead', page)
  const { ask, close } = await served(app)
  expect((await ask('/fairlead', { 'x-user': 'ann' })).status).toBe(200)
  expect((await ask('/fairlead')).status).toBe(403)
  expect(seen).toEqual(['ann', undefined])
  await close()
})

it('answers 500 where auth throws, and goes on', async () => {
  let calls = 0
  const page = fairConsole(createGate(), {
    auth: () => {
      if (calls++ === 0) throw new Error('the session store is away')
      return true
    },
  })
  const { ask, close } = await served((request, response) => void page(request, response))
  expect((await ask('/')).status).toBe(500)
  expect((await ask('/')).status).toBe(200)
  await close()
})

it.each(['http://a:99999/fairlead', 'http://a:b@c/fairlead', '/\\[', '//[/'])(
  'answers at any path of a client: %s',
  async (path) => {
    const server = createServer(fairConsole(createGate(), { auth: false })).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    const [head] = (await once(socket, 'data')) as [Buffer]
    expect(head.toString()).toMatch(/^HTTP\/1.1 200/)
    socket.destroy()
    server.closeAllConnections()
    server.close()
  },
)
