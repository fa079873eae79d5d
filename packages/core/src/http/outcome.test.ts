import { describe, expect, it } from 'vitest'
import { outcomeOf, ResourceExhaustedError } from './outcome.js'

function unreadable(): never {
  throw new Error('not to be read')
}

describe('the outcome of a response', () => {
  it.each([
    [200, undefined, 'success'],
    [304, undefined, 'success'],
    [404, undefined, 'success'],
    [499, undefined, 'success'],
    [429, undefined, 'failure'],
    [503, undefined, 'failure'],
    [500, undefined, 'ignored'],
    [504, undefined, 'ignored'],
    [500, new Error('a bug'), 'ignored'],
    [404, Object.assign(new Error('not found'), { status: 404 }), 'success'],
    [undefined, new Error('a bug'), 'ignored'],
    [undefined, 'a string', 'ignored'],
    [undefined, null, 'ignored'],
    [undefined, undefined, 'success'],
    [500, new ResourceExhaustedError(), 'failure'],
    [200, new ResourceExhaustedError(), 'failure'],
    [500, { status: 429 }, 'failure'],
    [500, { statusCode: 503 }, 'failure'],
    [500, { getStatus: () => 503 }, 'failure'],
    [500, { getStatus: () => 'soon' }, 'ignored'],
    [500, { status: '503' }, 'ignored'],
    [500, { getStatus: unreadable }, 'ignored'],
  ])('%s with %s is %s', (status, error, outcome) => expect(outcomeOf(status, error)).toBe(outcome))

  it.each([
    [500, 'ignored'],
    [200, 'success'],
  ])('%s with an error that cannot be read is %s', (status, outcome) => {
    const error = {}
    Object.defineProperty(error, 'status', { get: unreadable })
    expect(outcomeOf(status, error)).toBe(outcome)
  })

  it('knows a ResourceExhaustedError by its name, status, message and cause', () => {
    const cause = new Error('pool is empty')
    const error = new ResourceExhaustedError('no connection', { cause })
    expect(error).toMatchObject({ name: 'ResourceExhaustedError', status: 503, message: 'no connection', cause })
    expect(new ResourceExhaustedError().message).toBe('resource exhausted')
  })

  it('gives a ResourceExhaustedError an answer that keeps its message, for Hono', async () => {
    const response = new ResourceExhaustedError('no connection to db-7').getResponse()
    expect([response.status, await response.text()]).toEqual([503, 'Service Unavailable'])
  })
})
