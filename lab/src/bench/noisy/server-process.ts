import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { node24 } from '@fairlead-testing/runtimes'
import type { Guard } from './framework.js'
import type { Account } from './server.js'

/** The Node that runs the servers. */
export const NODE: string = node24 ?? process.execPath
const SERVER = fileURLToPath(new URL('./server.js', import.meta.url))

/** A server in a process of its own. */
export class ServerProcess {
  readonly port: number
  readonly #child: ChildProcess

  private constructor(port: number, child: ChildProcess) {
    this.port = port
    this.#child = child
  }

  /** Starts the server of a framework's file behind a guard; resolves when it listens. */
  static async start(framework: string, guard: Guard): Promise<ServerProcess> {
    const env = { ...process.env, NODE_ENV: 'production' }
    const child = fork(SERVER, [framework, guard], { execPath: NODE, execArgv: [], env })
    const { port } = await answer<{ port: number }>(child)
    return new ServerProcess(port, child)
  }

  /** The account of its gate. */
  account(): Promise<Account> {
    const account = answer<Account>(this.#child)
    this.#child.send('account')
    return account
  }

  stop(): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}

async function answer<T>(child: ChildProcess): Promise<T> {
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')])
  if (typeof message !== 'object' || message === null) throw new Error('A server ended before its time')
  return message as T
}
