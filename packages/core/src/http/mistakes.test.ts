import { describe, expect, it } from 'vitest'
import { createGate } from '../create-gate.js'
import { escrow } from '../escrow/mechanism.js'
import { requestQueue } from '../queue/request-queue.js'
import type { Framework } from './http-admission.js'
import { NodeAdmission } from './node-admission.js'
import type { HttpOptions } from './options.js'

interface Call {
  readonly address?: string
  readonly key?: string
  readonly status?: number
  readonly headers?: Record<string, string>
}

const framework: Framework<[call: Call]> = {
  name: 'fairMiddleware',
  address: ({ address = '192.0.2.1' }) => address,
  status: ({ status = 200 }) => status,
  shed: () => false,
  untrustedHeaders: ({ headers = {} }) => headers,
  trust: 'Trust it by the setting of the framework.',
}

/** Middleware with these options, a function that sends it requests, and the warnings it gave. */
function rig(options: HttpOptions<[Call]> = {}) {
  const warnings: string[] = []
  const admission = new NodeAdmission(framework, {
    ...(options.gate === undefined && { fair: false, shed: false }),
    onWarning: (message) => void warnings.push(message),
    ...options,
  })
  const visitOf = (call: Call = {}) => admission.visit([call], undefined)
  return {
    admission,
    warnings,
    async send(call: Call = {}, visit = visitOf(call)) {
      const decision = await admission.ask(visit)
      if (decision?.admitted) visit.admit(decision)
      visit.responseEnded(false)
      return { decision, visit }
    },
  }
}

/** Lets the moment pass in which the middleware was made. */
const later = (): Promise<void> => Promise.resolve()

describe('a gate that a request meets twice', () => {
  it('judges it once, and says so once', async () => {
    const gate = createGate({ fair: false, budget: escrow({ limit: 10, windowMs: 60_000 }) })
    const [outer, inner] = [rig({ gate }), rig({ gate })]
    for (let i = 0; i < 3; i++) {
      const { decision, visit } = await outer.send()
      expect(decision?.admitted).toBe(true)
      expect(await inner.admission.ask(inner.admission.visit([{}], visit))).toBeUndefined()
    }
    expect(gate.snapshot().admitted).toBe(3)
    expect(outer.warnings).toEqual([])
    expect(inner.warnings).toEqual([
      'A request has passed the same gate twice: remove the inner fairMiddleware, or give it its own gate.',
    ])
  })

  it('is found through another gate in between, and another gate is none', async () => {
    const gate = createGate({ fair: false })
    const [outer, between, inner] = [rig({ gate }), rig(), rig({ gate })]
    const { visit } = await outer.send()
    const second = between.admission.visit([{}], visit)
    expect(await between.admission.ask(second)).toMatchObject({ admitted: true })
    expect(await inner.admission.ask(inner.admission.visit([{}], second))).toBeUndefined()
    expect(between.warnings).toEqual([])
    expect(inner.warnings).toHaveLength(1)
  })
})

describe('middleware that is made for each request', () => {
  it('is said at the tenth in a row', async () => {
    const said: string[] = []
    for (let i = 0; i < 30; i++) {
      const { send, warnings } = rig()
      await send()
      said.push(...warnings)
    }
    expect(said).toEqual([
      'fairMiddleware was called again for each of the last 10 requests. Call it once: a new gate limits nothing.',
    ])
  })

  it('is not said of many that were made before their requests came, nor of what shares a gate', async () => {
    const said: string[] = []
    const gate = createGate({ fair: false })
    for (let i = 0; i < 30; i++) {
      const one = rig()
      await later()
      await one.send()
      const shared = rig({ gate })
      await shared.send()
      said.push(...one.warnings, ...shared.warnings)
    }
    expect(said).toEqual([])
  })
})

describe('a header of a proxy that is not trusted', () => {
  it.each(['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip'])('is said once: %s', async (header) => {
    const { send, warnings } = rig()
    for (let i = 0; i < 5; i++) await send({ headers: { [header]: '198.51.100.7' } })
    expect(warnings).toEqual([
      `A request carries the header ${header}, and no proxy is trusted: if a proxy of yours sets it, all clients are one ` +
        "flow, named by the proxy's address. Trust it by the setting of the framework. If no proxy stands before the " +
        'service, a client has made it up, and all is well.',
    ])
  })

  it('is not said where the flow is named by something else, or the user knows the address', async () => {
    for (const options of [{ flow: () => 'tenant' }, { address: () => '203.0.113.9' }]) {
      const { send, warnings } = rig(options)
      await send({ headers: { 'x-forwarded-for': '198.51.100.7' } })
      expect(warnings).toEqual([])
    }
  })
})

describe('middleware behind the routes', () => {
  it('is said when the first twenty answers were all 404', async () => {
    const { send, warnings } = rig()
    for (let i = 0; i < 19; i++) await send({ status: 404 })
    expect(warnings).toEqual([])
    for (let i = 0; i < 19; i++) await send({ status: 404 })
    expect(warnings).toEqual([
      'The first 20 requests that fairMiddleware judged were all answered 404. Put it before the routes.',
    ])
  })

  it('is not said once another answer was given', async () => {
    const { send, warnings } = rig()
    await send({ status: 200 })
    for (let i = 0; i < 100; i++) await send({ status: 404 })
    expect(warnings).toEqual([])
  })
})

describe('a flow that is the same for all', () => {
  it('is said after a thousand requests from several addresses', async () => {
    const { send, warnings } = rig({ flow: () => 'everybody' })
    for (let i = 0; i < 1_100; i++) await send({ address: `192.0.2.${i % 2}` })
    expect(warnings).toEqual([
      'The option flow gave the first 1000 requests, from several addresses, the same name, "everybody": let it name ' +
        'the tenant or the API key.',
    ])
  })

  it('is not said of one client, nor of two names', async () => {
    const one = rig({ flow: () => 'the only one' })
    const two = rig({ flow: ({ key }) => key })
    for (let i = 0; i < 1_100; i++) {
      await one.send()
      await two.send({ address: `192.0.2.${i % 2}`, key: i === 500 ? 'other' : 'everybody' })
    }
    expect([...one.warnings, ...two.warnings]).toEqual([])
  })
})

describe('a queue whose option function throws', () => {
  it('is said once, and the limit holds', async () => {
    const weightOf = (): number => {
      throw new Error('no such tenant')
    }
    const { admission, warnings } = rig({ queue: requestQueue({ concurrency: 1, weightOf }) })
    for (let i = 0; i < 5; i++) void admission.ask(admission.visit([{}], undefined))
    expect(admission.gate.snapshot()).toMatchObject({ inFlight: 1, waiting: 4 })
    expect(warnings).toEqual(['The stage queue failed: its onError decides. gate.observe() reports later ones.'])
    admission.gate.close()
  })
})

describe('options that answer later', () => {
  it('are awaited, and their answers count', async () => {
    const { send, admission } = rig({
      flow: async ({ key }) => key,
      cost: async () => 3,
      skip: async ({ status }) => status === 204,
    })
    const { decision } = await send({ key: 'tenant' })
    expect(decision).toMatchObject({ admitted: true, flow: 'tenant', cost: 3 })
    expect((await send({ key: 'tenant', status: 204 })).decision).toBeUndefined()
    expect((await send({})).decision).toMatchObject({ flow: 'ip:192.0.2.1' })
    expect(admission.gate.snapshot().admitted).toBe(2)
  })

  it('fail as others do: by address, and said once', async () => {
    const { send, warnings } = rig({ flow: () => Promise.reject(new Error('the store is away')) })
    for (let i = 0; i < 3; i++) expect((await send()).decision).toMatchObject({ flow: 'ip:192.0.2.1', cost: 1 })
    expect(warnings).toHaveLength(1)
  })

  it('have nothing judged whose client leaves meanwhile', async () => {
    let know: (name: string) => void = () => {}
    const { admission } = rig({ flow: () => new Promise<string>((resolve) => (know = resolve)) })
    const visit = admission.visit([{}], undefined)
    const asked = admission.ask(visit)
    visit.responseEnded(true)
    know('tenant')
    expect(await asked).toMatchObject({ admitted: false, reason: 'gone' })
    expect(admission.gate.snapshot().admitted).toBe(0)
  })
})
