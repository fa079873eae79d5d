import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import type { Reply, RequestParts } from './client.js'

/** One request on an HTTP/2 connection, and its response so far. */
export class Http2Exchange {
  /** The response, complete or not, once the stream has closed. */
  readonly reply: Promise<Reply>
  readonly #stream: ClientHttp2Stream
  #body = ''
  #looks: (() => void)[] = []

  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream
    let status = 0
    let headers = {}
    stream.setEncoding('utf8')
    // The reply reports a stream that is reset, or whose connection dies.
    stream.on('error', () => {})
    stream.on('response', (all) => {
      status = all[':status'] ?? 0
      headers = all
    })
    stream.on('data', (chunk: string) => {
      this.#body += chunk
      for (const look of this.#looks) look()
    })
    this.reply = new Promise((resolve) => {
      stream.on('close', () => {
        const complete = stream.rstCode === constants.NGHTTP2_NO_ERROR && stream.readableEnded
        resolve({ status, headers, body: this.#body, complete })
      })
    })
  }

  /** Waits until the received part of the body contains `text`. */
  received(text: string): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.#body.includes(text)) resolve()
      }
      this.#looks.push(look)
      look()
    })
  }

  /** Resets the stream: the other streams of the connection continue. */
  async reset(): Promise<void> {
    this.#stream.close(constants.NGHTTP2_CANCEL)
    await this.reply
  }
}

/** An HTTP/2 connection, with many requests in flight at once. */
export class Http2Client {
  readonly #session: ClientHttp2Session

  private constructor(session: ClientHttp2Session) {
    this.#session = session
    session.on('error', () => {})
  }

  /** `windowSize`: bytes of each answer that may be sent before the client asks for more. */
  static async connect(port: number, windowSize: number = 65_535): Promise<Http2Client> {
    const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: windowSize } })
    await once(session, 'connect')
    return new Http2Client(session)
  }

  ask(path: string, { method = 'GET', headers = {}, body }: RequestParts = {}): Http2Exchange {
    const endStream = body === undefined
    const stream = this.#session.request({ ':method': method, ':path': path, ...headers }, { endStream })
    if (!endStream) stream.end(body)
    return new Http2Exchange(stream)
  }

  /** Begins an upload, and sends only this part of it. */
  upload(path: string, part: string): Http2Exchange {
    const stream = this.#session.request({ ':method': 'POST', ':path': path })
    stream.write(part)
    return new Http2Exchange(stream)
  }

  /** Uploads endlessly, as fast as the server reads. Returns the number of bytes written until the stream closed. */
  flood(path: string): Promise<{ reply: Reply; written: number }> {
    const stream = this.#session.request({ ':method': 'POST', ':path': path })
    const chunk = 'b'.repeat(65_536)
    let written = 0
    const more = (): void => {
      if (stream.closed || stream.destroyed) return
      stream.write(chunk, () => {
        written += chunk.length
        more()
      })
    }
    more()
    return new Http2Exchange(stream).reply.then((reply) => ({ reply, written }))
  }

  /** Announces that no more requests will follow (GOAWAY), because of an error or without one, and stays. */
  sayGoodbye(why: 'done' | 'error'): void {
    this.#session.goaway(why === 'done' ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_PROTOCOL_ERROR)
  }

  /** Forbids the server to send any more of an answer. */
  closeWindow(): void {
    this.#session.settings({ initialWindowSize: 0 })
  }

  /** Asks for a tunnel. */
  tunnel(): Http2Exchange {
    return new Http2Exchange(this.#session.request({ ':method': 'CONNECT', ':authority': 'localhost:1' }))
  }

  /** Leaves, with all requests in flight. */
  async leave(): Promise<void> {
    if (this.#session.destroyed) return
    const closed = once(this.#session, 'close')
    this.#session.destroy()
    await closed
  }
}
