import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Longer than any request waits in a queue. */
const PATIENCE_MS = 4_000

/**
 * Keep-alive connections of one client, opened as needed. Implemented by hand, because the clients of all servers share
 * a processor with them, and Node's own HTTP client costs more than the servers do.
 */
export class Connections {
  readonly #port: number
  readonly #localAddress: string
  readonly #request: string
  readonly #idle = new Set<Socket>()
  readonly #open = new Set<Socket>()

  constructor(port: number, localAddress: string, request: string) {
    this.#port = port
    this.#localAddress = localAddress
    this.#request = request
  }

  /** Opens connections in advance: a server accepts one in each turn of its event loop. */
  async open(count: number): Promise<void> {
    const sockets = Array.from({ length: count }, () => this.#connect())
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    for (const socket of sockets) this.#idle.add(socket)
  }

  /** Sends the request once. Returns the status; 0 if there was no complete answer within {@link PATIENCE_MS}. */
  ask(): Promise<number> {
    const [idle] = this.#idle
    const socket = idle ?? this.#connect()
    this.#idle.delete(socket)
    return new Promise((resolve) => {
      let text = ''
      const end = (status: number): void => {
        socket.off('data', hear)
        socket.off('close', fail)
        if (status === 0) socket.destroy()
        else this.#idle.add(socket)
        resolve(status)
      }
      const fail = (): void => end(0)
      const hear = (part: string): void => {
        text += part
        const status = statusOf(text)
        if (status !== undefined) end(status)
      }
      socket.on('data', hear)
      socket.on('close', fail)
      socket.write(this.#request)
    })
  }

  close(): void {
    for (const socket of this.#open) socket.destroy()
  }

  #connect(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', localAddress: this.#localAddress, noDelay: true })
    socket.setEncoding('latin1')
    socket.setTimeout(PATIENCE_MS, () => {
      if (!this.#idle.has(socket)) socket.destroy()
    })
    this.#open.add(socket)
    // Errors are reported by `close`.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#open.delete(socket)
      this.#idle.delete(socket)
    })
    return socket
  }
}

/** The status of an answer; undefined while it is incomplete, 0 if it does not state its length. */
export function statusOf(text: string): number | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = text.slice(0, end)
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) return 0
  return text.length - end - 4 >= Number(length) ? Number(head.slice(9, 12)) : undefined
}
