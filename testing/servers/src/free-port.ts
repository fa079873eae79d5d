import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Systems assign ports from 32 768 or 49 152 on to connections. Below that, no other process's connection takes the
 * port before a server does, or while a server is stopped; nor the port 10 000 above, on which nodes of a Redis cluster
 * communicate.
 */
const FIRST = 12_000
const PORTS = 10_000
const ATTEMPTS = 100

/** An unused port of 127.0.0.1, for a server that cannot choose one itself. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = FIRST + Math.floor(Math.random() * PORTS)
    if ((await isFree(port)) && (await isFree(port + PORTS))) return port
  }
  throw new Error('no port to be had')
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
