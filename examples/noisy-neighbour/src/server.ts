/**
 * The server process: `node server.js <pool|cpu> <bare|fair>`, started by `server-process.ts`. Sends the port to its
 * parent when it listens, and ends with the parent.
 */
import type { AddressInfo } from 'node:net'
import { createApp } from './app.js'
import { processor } from './cpu.js'
import { DATABASE, openDatabase } from './pool.js'

const [resourceName, guard] = process.argv.slice(2)
const resource = resourceName === 'cpu' ? processor() : await openDatabase(DATABASE)
const app = createApp(resource, guard === 'fair' ? 'fair' : 'bare')

const server = app.listen(0, '127.0.0.1', (error) => {
  if (error) throw error
  process.send?.({ port: (server.address() as AddressInfo).port })
})
// Longer than any phase: a connection that the server closes just as a request leaves would count as a lost request.
server.keepAliveTimeout = 120_000

// Ctrl-C reaches the whole process group; the parent decides when this one ends.
process.on('SIGINT', () => {})
process.on('disconnect', () => process.exit())
