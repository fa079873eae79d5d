import { Agent, get } from 'node:http'

/** The result of a request: its status, or `lost` if there was no answer. */
export interface Answer {
  readonly status: number | 'lost'
  readonly atMs: number
}

/** After this time without an answer a client gives up, and the server's further work for it is wasted. */
const PATIENCE_MS = 2_000

/** Sends requests over keep-alive connections, opening as many as needed. */
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
      const end = (status: Answer['status']): void => {
        clearTimeout(patience)
        resolve({ status, atMs: performance.now() })
      }
      const lost = (): void => end('lost')
      const request = get(this.#url, { agent: this.#agent, headers: { 'x-client': name } }, (response) => {
        response.resume()
        response.once('end', () => end(response.statusCode ?? 'lost'))
        response.once('error', lost)
      })
      request.once('error', lost)
      // A timer of our own: the request's own timeout does not count the time that it takes to connect.
      const patience = setTimeout(() => request.destroy(new Error('out of patience')), PATIENCE_MS)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
