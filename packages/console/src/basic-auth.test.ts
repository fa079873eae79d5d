import { Readable } from 'node:stream'
import { createGate } from '@fairlead/core'
import { describe, expect, it } from 'vitest'
import { basicAuth, fairConsole } from './index.js'

const page = fairConsole(createGate(), { auth: basicAuth({ ann: 'right', ['__proto__']: 'odd' }) })
const ask = async (authorization?: string): Promise<number> =>
  (await page(new Request('http://host/', { headers: authorization === undefined ? {} : { authorization } }))).status
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

describe('basicAuth', () => {
  it('knows a name by its password alone', async () => {
    expect(await ask(basic('ann:right'))).toBe(200)
    expect(await ask(basic('ann:right').replace('Basic', 'basic'))).toBe(200)
    expect(await ask(basic('__proto__:odd'))).toBe(200)
    for (const wrong of [
      undefined,
      '',
      'Basic',
      'Basic !!!',
      'Bearer YW5uOnJpZ2h0',
      basic('ann:'),
      basic('ann'),
      basic(':'),
      basic('ann:right '),
      basic('ann:righ'),
      basic('bob:right'),
      basic('bob:'),
      basic('constructor:'),
      basic('toString:undefined'),
    ])
      expect([wrong, await ask(wrong)]).toEqual([wrong, 401])
  })

  it('is not made without a password', () => {
    for (const [given, shown] of [
      ['topsecret', '"topsecret"'],
      [['ann'], 'an array'],
      [null, 'null'],
      [undefined, 'undefined'],
      [5, '5'],
    ] as const)
      expect(() => basicAuth(given as never)).toThrow(
        `passwords must be an object with names and their passwords, got ${shown}`,
      )
    expect(() => basicAuth({})).toThrow('needs a name')
    expect(() => basicAuth({ ann: undefined })).toThrow('password of "ann" must be a non-empty string')
    expect(() => basicAuth({ ann: '' })).toThrow('password of "ann" must be a non-empty string')
    expect(() => basicAuth({ 'a:b': 'x' })).toThrow('colon')
    expect(() => basicAuth({ '': 'x' })).toThrow('colon')
  })
})

it('auth may answer by itself ten thousand times with the same response, and nothing piles up', async () => {
  const page = fairConsole(createGate(), { auth: () => same })
  const same = new Response('please log in', { status: 401 })
  const ask = (method: string): Promise<Response> => page(new Request('http://host/', { method }))
  await Promise.all(Array.from({ length: 10_000 }, () => ask('HEAD')))
  const [one, two] = await Promise.all([ask('GET'), ask('GET')])
  expect([one.status, await one.text(), await two.text()]).toEqual([401, 'please log in', 'please log in'])
})

it('auth may answer by itself, each time with the same response', async () => {
  const login = new Response(null, { status: 302, headers: { location: '/login' } })
  const console = fairConsole(createGate(), { auth: () => login })
  for (let i = 0; i < 2; i++) {
    const answer = await console(new Request('http://host/?events'))
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/login'])
  }
  expect(console.viewers).toBe(0)
})

/** A response of a library: with its own class, and perhaps a body that is no web stream. */
class Foreign {
  readonly status: number
  readonly headers = new Headers([['location', '/login']])
  readonly body: unknown
  constructor(status: number, body: unknown) {
    this.status = status
    this.body = body
  }
}

describe('an answer of auth that is of another class', () => {
  const answered = async (given: unknown): Promise<Response> => {
    const console = fairConsole(createGate(), { auth: () => given as Response })
    return await console(new Request('http://host/'))
  }

  it('is given as it is', async () => {
    for (const body of [null, Readable.from([Buffer.from('please')]), new Blob(['please']).stream()]) {
      const answer = await answered(new Foreign(401, body))
      expect([answer.status, answer.headers.get('location')]).toEqual([401, '/login'])
      expect(await answer.text()).toBe(body === null ? '' : 'please')
    }
  })

  it('lets no viewer in if there is none, and is never rejected', async () => {
    const used = new Response('read already')
    await used.text()
    for (const odd of [{}, [], { status: 200 }, { status: 200, headers: 7, body: null }, Response.error(), used])
      expect((await answered(odd)).status).toBe(500)
  })
})
