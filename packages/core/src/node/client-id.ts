import { hostname } from 'node:os'

let made = 0

/** An id for a Doorman client that people can read: `host:pid:n`, another one at each call. */
export function clientId(): string {
  return `${hostname()}:${process.pid}:${++made}`
}
