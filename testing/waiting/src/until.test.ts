import { describe, expect, it } from 'vitest'
import { attempt, until } from './until.js'

describe('until', () => {
  it('gives what is seen as soon as there is something, if only nothing much', async () => {
    const seen = [undefined, false, new Error('not yet'), Promise.resolve(undefined), 0, 7]
    expect(await until('a number', () => seen.shift() as number)).toBe(0)
    expect(seen).toEqual([7])
  })

  it('goes on after attempts that fail', async () => {
    const calls = [Promise.reject(new Error('refused')), Promise.reject('gone'), Promise.resolve('answer')]
    for (const call of calls) call.catch(() => {})
    expect(await until('an answer', () => attempt(calls.shift()!))).toBe('answer')
    expect(await attempt(Promise.reject('gone'))).toEqual(new Error('gone'))
  })

  it('fails at once with what a look throws, though the next would see what is waited for', async () => {
    let looks = 0
    const look = async (): Promise<boolean> => {
      looks++
      expect(looks, 'how much there is').not.toBe(2)
      return looks > 2
    }
    await expect(until('the third look', look)).rejects.toThrow(/^how much there is: expected 2 not to be 2/)
    expect(looks).toBe(2)
  })

  it('says what never happened, and why it had not at last', async () => {
    const refused = new Error('connection refused')
    await expect(until('an answer', () => refused, 0)).rejects.toMatchObject({
      message: 'it never happened: an answer',
      cause: refused,
    })
    await expect(until('an end', () => false, 0)).rejects.toMatchObject({ cause: undefined })
  })
})
