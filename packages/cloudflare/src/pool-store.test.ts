import type { LeaseAnswer, LeaseCall, PoolStore } from '@fairlead/core/escrow'
import { poolStoreContract } from '@fairlead/testing'
import type { Miniflare } from 'miniflare'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorkers } from './fixtures/start-workers.js'
import { DurableObjectPoolStore, type DurableObjectPoolStoreOptions } from './index.js'

let workers: Miniflare
beforeAll(async () => {
  workers = await startWorkers()
})
afterAll(() => workers.dispose())

let generation = 0
const store: PoolStore = {
  async lease(call: LeaseCall): Promise<LeaseAnswer> {
    const url = `http://worker/?generation=${generation}`
    const response = await workers.dispatchFetch(url, { method: 'POST', body: JSON.stringify(call) })
    if (!response.ok) throw new RangeError(await response.text())
    return (await response.json()) as LeaseAnswer
  },
}

describe('contract of stores, in a Durable Object in workerd', () => {
  const forget = async (): Promise<void> => {
    generation++
  }
  // The object calls the pool's own code: a play compares 400 of its answers with those of the same code in process.
  const plays = process.env['FAIRLEAD_WIDE'] === undefined ? 0 : 2
  for (const { name, run } of poolStoreContract({ stores: [store, store], forget, plays })) it(name, run)
})

describe('the store in Durable Objects', () => {
  it('serves an escrow in a worker', async () => {
    const answers: unknown[] = []
    for (let at = 0; at < 101; at++)
      answers.push(await (await workers.dispatchFetch('http://worker/check?tenant=a')).json())
    expect(answers.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => ({ allowed: true })))
    expect(answers[100]).toMatchObject({ allowed: false, reason: 'exhausted' })
  })

  it('says why there was no answer', async () => {
    const call = (): LeaseCall => {
      const none = { weight: 0, used: 0 }
      const pool = { name: 'p', limit: 1, windowMs: 1, quantum: 1 }
      const mark = { epoch: 0, rev: 0, total: 0, ahead: 0, members: 0 }
      return {
        pool,
        member: 'm',
        seq: 1,
        win: -1,
        holds: 0,
        spent: 0,
        mark,
        quiet: none,
        tenants: [],
        need: 0,
      }
    }
    const storeOf = (fetch: () => Promise<Response>): DurableObjectPoolStore =>
      new DurableObjectPoolStore({ namespace: { idFromName: (name) => name, get: () => ({ fetch }) } })
    const full = Object.assign(new Error('Durable Object is overloaded.'), { overloaded: true })
    await expect(storeOf(() => Promise.reject(full)).lease(call())).rejects.toMatchObject({
      name: 'PoolStoreError',
      kind: 'out-of-memory',
      cause: full,
    })
    const gone = new Error('Network connection lost.')
    await expect(storeOf(() => Promise.reject(gone)).lease(call())).rejects.toMatchObject({ kind: 'network' })
    const odd = storeOf(async () => new Response('no', { status: 500 }))
    await expect(odd.lease(call())).rejects.toMatchObject({ kind: 'other', message: 'the object answered 500: no' })
  })

  it('checks what it is made of', () => {
    // @ts-expect-error -- what JavaScript may pass
    expect(() => new DurableObjectPoolStore()).toThrow('DurableObjectPoolStore must be an object')
    const bad: [object, RegExp][] = [
      [{ namespace: {} }, /namespace.idFromName must be a function/],
      [{ namespac: {} }, /no option "namespac"/],
      [{ namespace: { idFromName() {} }, waitUntil: 1 }, /waitUntil must be a function, got 1/],
    ]
    for (const [options, message] of bad)
      expect(() => new DurableObjectPoolStore(options as DurableObjectPoolStoreOptions)).toThrow(message)
  })
})
