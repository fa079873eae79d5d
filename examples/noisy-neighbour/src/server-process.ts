import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Options } from './options.js'

/** The server, in a process of its own. */
export interface ServerProcess {
  readonly url: string
  /** The result of `work`; rejects immediately if the server ends before that. */
  whileAlive<T>(work: Promise<T>): Promise<T>
  stop(): Promise<void>
}

/** Starts the server, with or without Fairlead, and waits until it listens. */
export async function startServer(resource: Options['resource'], guard: 'bare' | 'fair'): Promise<ServerProcess> {
  const child = fork(fileURLToPath(new URL('./server.js', import.meta.url)), [resource, guard])
  const ended = once(child, 'exit')
  const whileAlive = <T>(work: Promise<T>): Promise<T> =>
    Promise.race([
      work,
      ended.then(([code, signal]) => {
        throw new Error(`the server process died (${signal ?? `exit code ${code}`})`)
      }),
    ])

  const [message] = await whileAlive(once(child, 'message') as Promise<[{ port: number }]>)
  return {
    url: `http://127.0.0.1:${message.port}/`,
    whileAlive,
    async stop() {
      child.kill()
      await ended
    },
  }
}
