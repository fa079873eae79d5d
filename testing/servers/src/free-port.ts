import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Systems give connections ports from 32 768 or 49 152 on. Below, no connection of somebody else's has the port before
 * a server does, or while a server is away; nor the one 10 000 above, on which nodes of a Redis cluster talk.
 */
const FIRST = 12_000
const PORTS = 10_000
const ATTEMPTS = 100

/** A port of 127.0.0.1 that nobody has, for a server that cannot be told to take any. */
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
