import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'

/** Differs between worker threads, between copies of this module, and between containers that share a host's name. */
const here = randomBytes(6).toString('hex')
let made = 0

/** A human-readable id for a Doorman client: `host:pid:n:random`, unique for each call in any process. */
export function clientId(): string {
  return `${hostname()}:${process.pid}:${++made}:${here}`
}
