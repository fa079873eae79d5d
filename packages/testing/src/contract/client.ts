import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http'
import { connect, type Socket } from 'node:net'

/** A whole response. */
export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** False if the connection ended before the body did. */
  readonly complete: boolean
}

/** What to send besides the path. */
export interface Sent {
  method?: string
  headers?: OutgoingHttpHeaders
  body?: string
}

/** Sends one request on a connection of its own, and reads the whole response, or what came of it. */
export function exchange(port: number, path: string, { method = 'GET', headers = {}, body }: Sent): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('error', () => {})
      response.on('close', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: text,
          complete: response.complete,
        }),
      )
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** A connection on which requests are written by hand. */
export class RawClient {
  readonly #socket: Socket
  #received = ''
  #waits: (() => void)[] = []
  /** Settles when the connection has closed, whoever closed it. */
  readonly closed: Promise<void>

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      this.#received += chunk
      for (const check of this.#waits) check()
    })
    socket.on('error', () => {})
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()))
  }

  static connect(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
      socket.setNoDelay(true)
      socket.once('error', reject)
      socket.once('connect', () => resolve(new RawClient(socket)))
    })
  }

  /** Writes requests without a body, all at once: more than one of them are pipelined. */
  get(...paths: readonly string[]): void {
    this.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''))
  }

  write(text: string): void {
    this.#socket.write(text)
  }

  /** Writes a request with a body of `size` bytes, as fast as the server takes it. */
  post(path: string, size: number, headers: string = ''): void {
    this.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${size}\r\n\r\n`)
    this.write('b'.repeat(size))
  }

  /** Writes until the connection closes, or nothing more is taken for half a second. Gives how many bytes were taken. */
  async flood(): Promise<number> {
    const chunk = 'b'.repeat(65_536)
    let written = 0
    for (let open = true; open && !this.#socket.destroyed; ) {
      written += chunk.length
      if (this.#socket.write(chunk)) continue
      open = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), 500)
        this.#socket.once('drain', () => {
          clearTimeout(timer)
          resolve(true)
        })
        this.#socket.once('close', () => resolve(false))
      })
    }
    return written - this.#socket.writableLength
  }

  /** Says that nothing more will come, and stays. */
  halfClose(): void {
    this.#socket.end()
  }

  /** Reads nothing from now on. */
  stopReading(): void {
    this.#socket.pause()
  }

  /** Waits until `text` was received `times` times; what was received is then forgotten. */
  received(text: string, times: number = 1): Promise<string> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (this.#received.split(text).length <= times) return
        this.#waits = this.#waits.filter((other) => other !== check)
        const all = this.#received
        this.#received = ''
        resolve(all)
      }
      this.#waits.push(check)
      check()
    })
  }

  /** Leaves: without a word (FIN), or with a reset (RST). */
  async leave(how: 'end' | 'reset' = 'end'): Promise<void> {
    if (how === 'reset') this.#socket.resetAndDestroy()
    else this.#socket.destroy()
    await this.closed
  }
}
