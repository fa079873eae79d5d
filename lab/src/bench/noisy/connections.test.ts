import { describe, expect, it } from 'vitest'
import { statusOf } from './connections.js'

describe('statusOf', () => {
  const whole = 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\nDate: today\r\n\r\nno'

  it('waits for the last byte of an answer that comes in parts', () => {
    for (let end = 0; end < whole.length; end++) expect(statusOf(whole.slice(0, end))).toBeUndefined()
    expect(statusOf(whole)).toBe(503)
  })

  it('finds the length wherever it stands, and understands no answer without', () => {
    expect(statusOf('HTTP/1.1 200 OK\r\nDate: today\r\ncontent-length: 0\r\n\r\n')).toBe(200)
    expect(statusOf('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')).toBe(0)
  })
})
