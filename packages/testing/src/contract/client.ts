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

/** The request, besides its path. */
export interface RequestParts {
  method?: string
  headers?: OutgoingHttpHeaders
  body?: string
}

/** Sends one request on a connection of its own, and reads the whole response, or as much as arrives. */
export function exchange(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body }: RequestParts,
): Promise<Reply> {
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

/** A connection on which requests are written as raw text. */
export class RawClient {
  readonly #socket: Socket
  #received = ''
  #drained = (): void => {}
  #waits: (() => void)[] = []
  /** Settles when the connection has closed, from either end. */
  readonly closed: Promise<void>

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      this.#received += chunk
      for (const check of this.#waits) check()
    })
    socket.on('error', () => {})
    socket.on('drain', () => this.#drained())
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

  /** Writes requests without a body, all at once: more than one are pipelined. */
  get(...paths: readonly string[]): void {
    this.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''))
  }

  write(text: string): void {
    this.#socket.write(text)
  }

  /** Writes a request with a body of `size` bytes, as fast as the server reads it. */
  post(path: string, size: number, headers: string = ''): void {
    this.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${size}\r\n\r\n`)
    this.#socket.write(Buffer.alloc(size, 'b'))
  }

  /**
   * Writes until the connection closes, or no data is accepted for half a second. Returns the number of bytes accepted.
   */
  async flood(): Promise<number> {
    const chunk = 'b'.repeat(65_536)
    let written = 0
    for (let open = true; open && !this.#socket.destroyed; ) {
      written += chunk.length
      if (this.#socket.write(chunk)) continue
      let timer: NodeJS.Timeout | undefined
      const tired = new Promise<boolean>((resolve) => {
        timer = setTimeout(() => resolve(false), 500)
      })
      const drained = new Promise<boolean>((resolve) => {
        this.#drained = () => resolve(true)
      })
      open = await Promise.race([tired, drained, this.closed.then(() => false)])
      clearTimeout(timer)
    }
    return written - this.#socket.writableLength
  }

  /** Ends its side of the connection, and stays. */
  halfClose(): void {
    this.#socket.end()
  }

  /** Stops reading. */
  stopReading(): void {
    this.#socket.pause()
  }

  /** Waits until `text` was received `times` times; the received data is then discarded. */
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

  /** Leaves by a FIN, or by a reset (RST). */
  async leave(how: 'end' | 'reset' = 'end'): Promise<void> {
    if (how === 'reset') this.#socket.resetAndDestroy()
    else this.#socket.destroy()
    await this.closed
  }
}
