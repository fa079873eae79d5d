import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A compiled example that runs in a process of its own, on a free loopback port. */
export class Program {
  /** Address of its server. */
  readonly url: string
  /** Its output so far. */
  readonly lines: readonly string[]
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, url: string, lines: readonly string[]) {
    this.#child = child
    this.url = url
    this.lines = lines
  }

  /** Starts it, on the current Node, with these settings, and waits for the line that names its port. */
  static async start(file: URL, settings: Readonly<Record<string, string>> = {}): Promise<Program> {
    const env = { ...process.env, ...settings, PORT: '0' }
    const child = spawn(process.execPath, [fileURLToPath(file)], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const lines: string[] = []
    const reader = createInterface({ input: child.stdout })
    reader.on('line', (line) => lines.push(line))
    await Promise.race([once(reader, 'line'), once(child, 'exit')])
    const port = /port: (\d+)/.exec(lines.join(' '))?.[1]
    if (port === undefined) throw new Error(`${file} ended before it listened`)
    return new Program(child, `http://127.0.0.1:${port}`, lines)
  }

  /** Sends a request with an API key. With a body, which is sent as JSON, it is a POST. */
  ask(path: string, key: string = 'quiet', body?: unknown, signal: AbortSignal | null = null): Promise<Response> {
    const headers = { 'x-api-key': key }
    if (body === undefined) return fetch(`${this.url}${path}`, { headers, signal })
    const json = { ...headers, 'content-type': 'application/json' }
    return fetch(`${this.url}${path}`, { method: 'POST', headers: json, body: JSON.stringify(body), signal })
  }

  async json(path: string, key?: string): Promise<unknown> {
    return (await this.ask(path, key)).json()
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#child.kill()
    await exit
  }
}
