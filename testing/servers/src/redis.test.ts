import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis, withRedisUrl } from './index.js'

let servers: Pick<RedisServer, 'stop'>[] = []
afterEach(async () => {
  await Promise.all(servers.map((server) => server.stop()))
  servers = []
})

function keep<Server extends Pick<RedisServer, 'stop'>>(server: Server): Server {
  servers.push(server)
  return server
}

async function ask(port: number, command: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`${command}\r\n`)
  const [reply] = await once(socket, 'data')
  socket.destroy()
  return String(reply)
}

describe('a Redis for tests', () => {
  it('answers, and has forgotten everything when it is started again on its port', async () => {
    const first = await startRedis()
    expect(await ask(first.port, 'SET key value')).toContain('OK')
    await first.stop()
    await expect(ask(first.port, 'PING')).rejects.toThrow()
    const second = keep(await startRedis({ port: first.port }))
    expect(await ask(second.port, 'GET key')).toBe('$-1\r\n')
  })

  it('hangs until it is resumed', async () => {
    const server = keep(await startRedis())
    server.hang()
    let answered = false
    const reply = ask(server.port, 'PING').then((text) => {
      answered = true
      return text
    })
    await expect(Promise.race([reply, new Promise((resolve) => setImmediate(resolve, 'nothing'))])).resolves.toBe(
      'nothing',
    )
    expect(answered).toBe(false)
    server.resume()
    expect(await reply).toContain('PONG')
  })

  it('can be a cluster', async () => {
    const server = keep(await startRedis({ cluster: true }))
    expect(await ask(server.port, 'SET {a}1 x')).toContain('OK')
    expect(await ask(server.port, 'MSET {a}1 x {b}1 x')).toContain('CROSSSLOT')
  })

  it('is an existing one, which is left alone, if REDIS_URL is set', async () => {
    const before = process.env['REDIS_URL']
    const server = keep(await startRedis())
    try {
      process.env['REDIS_URL'] = server.url
      const found = await withRedisUrl()
      expect(found.url).toBe(server.url)
      await found.stop()
      expect(await ask(server.port, 'PING')).toContain('PONG')
    } finally {
      if (before === undefined) delete process.env['REDIS_URL']
      else process.env['REDIS_URL'] = before
    }
  })
})
