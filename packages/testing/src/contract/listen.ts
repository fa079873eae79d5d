import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { RunningApp } from './harness.js'

/** Listens on a free port of 127.0.0.1 with a server of `node:http` or `node:http2`, which closes with its sockets. */
export async function listen(server: Server): Promise<RunningApp> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
