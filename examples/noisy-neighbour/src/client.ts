import { Agent, get } from 'node:http'

/** What became of a request: its status, or `lost` if there was no answer. */
export interface Answer {
  readonly status: number | 'lost'
  readonly atMs: number
}

/** After this long without an answer a client gives up, and what the server still does for it is done for nobody. */
const PATIENCE_MS = 2_000

/** Sends requests over keep-alive connections, as many as are needed at once. */
export class HttpClient {
  readonly #url: URL
  // Without a bound: a client that waits for a free connection would slow down with the server.
  readonly #agent: Agent = new Agent({ keepAlive: true, maxFreeSockets: 1_000 })

  constructor(url: string) {
    this.#url = new URL(url)
  }

  /** Asks once as `name`. Never rejects. `atMs` is `performance.now()` when the answer was complete. */
  ask(name: string): Promise<Answer> {
    return new Promise((resolve) => {
      const lost = (): void => resolve({ status: 'lost', atMs: performance.now() })
      const request = get(this.#url, { agent: this.#agent, headers: { 'x-client': name } }, (response) => {
        response.resume()
        response.once('end', () => resolve({ status: response.statusCode ?? 'lost', atMs: performance.now() }))
        response.once('error', lost)
      })
      request.setTimeout(PATIENCE_MS, () => request.destroy(new Error('out of patience')))
      request.once('error', lost)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
