import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'

/** Each worker thread, and each copy of this module, has its own; so have containers that share a host's name. */
const here = randomBytes(6).toString('hex')
let made = 0

/** An id for a Doorman client that people can read: `host:pid:n:random`, another one at each call, anywhere. */
export function clientId(): string {
  return `${hostname()}:${process.pid}:${++made}:${here}`
}
