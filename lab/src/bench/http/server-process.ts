import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { pin } from './processor.js'
import type { Ports, Usage } from './serve.js'

const SERVE = fileURLToPath(new URL('./serve.js', import.meta.url))

/** A server in a process of its own, so that its CPU time is its own. */
export class ServerProcess {
  /** Of the bare route. */
  readonly barePort: number
  /** Of the route behind the mode. */
  readonly port: number
  readonly #child: ChildProcess

  private constructor({ barePort, port }: Ports, child: ChildProcess) {
    this.barePort = barePort
    this.port = port
    this.#child = child
  }

  /** Starts the framework's server behind the mode; `node` is the path of the Node to run it on. */
  static async start(node: string, framework: string, mode: string): Promise<ServerProcess> {
    const env = { ...process.env, NODE_ENV: 'production' }
    const child = fork(SERVE, [framework, mode], { execPath: node, execArgv: [], env })
    const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')])
    if (typeof message !== 'object' || message === null)
      throw new Error(`The server of ${framework}, ${mode}, ended before it listened`)
    pin(child.pid, 'server')
    return new ServerProcess(message as Ports, child)
  }

  /** CPU time used so far, in microseconds. */
  async cpuUs(): Promise<number> {
    const answer = once(this.#child, 'message') as Promise<[Usage]>
    this.#child.send('usage')
    const [usage] = await answer
    return usage.cpuUs
  }

  stop(): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}
