import type { Fields } from './rate-limit-fields.js'

/** What is used of a response of Node, over HTTP/1.1 or HTTP/2. */
export interface NodeHead {
  readonly headersSent: boolean
  getHeader(name: string): number | string | readonly string[] | undefined
  setHeader(name: string, value: string): unknown
  writeHead(status: number, ...rest: never[]): unknown
}

/**
 * Adds fields to a response at the moment its head is written, whoever writes it: an error handler that has taken all
 * fields away before, too. `fields` is asked then, with the status. Where one is there already, this goes to its list.
 */
export function onResponseHead(response: NodeHead, fields: (status: number) => Fields | undefined): void {
  const { writeHead } = response
  response.writeHead = (status, ...rest) => {
    if (!response.headersSent) add(response, fields(status))
    return Reflect.apply(writeHead, response, [status, ...rest])
  }
}

function add(response: NodeHead, fields: Fields = {}): void {
  for (const [name, value] of Object.entries(fields)) {
    const before = response.getHeader(name)
    response.setHeader(name, before === undefined ? value : `${before}, ${value}`)
  }
}
