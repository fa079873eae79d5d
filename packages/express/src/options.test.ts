import { createGate, loadShedder } from '@fairlead/core'
import { defaultSignals } from '@fairlead/core/node'
import { requestQueue } from '@fairlead/core/queue'
import express, { type Request, type RequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { type FairMiddlewareOptions, fairMiddleware } from './index.js'

describe('options', () => {
  const notFunctions = [1, 'key', null, {}, [], true, Number.NaN]

  for (const name of ['flow', 'cost', 'priority', 'exempt', 'skip', 'outcome', 'handler', 'onWarning'])
    it.each(notFunctions)(`${name} refuses %j`, (value) => {
      const make = (): unknown => fairMiddleware({ [name]: value } as FairMiddlewareOptions)
      expect(make).toThrow(new RegExp(`^${name} must be a function, got `))
    })

  it.each<[object, string]>([
    [
      { flwo: () => 'a' },
      'fairMiddleware has no option "flwo"; it knows address, after, budget, clientTimeoutMs, clock, cost, doorman, exempt, fair, fleet, flow, gate,',
    ],
    [{ keyGenerator: () => 'a' }, 'fairMiddleware has no option "keyGenerator"'],
    [{ onError: 'ignore' }, 'onError must be one of "address", "admit", "refuse", got "ignore"'],
    [{ onError: true }, 'onError must be one of "address", "admit", "refuse", got true'],
    [{ ipv6Prefix: 0 }, 'ipv6Prefix must be an integer from 1 to 128, got 0'],
    [{ ipv6Prefix: 129 }, 'ipv6Prefix must be an integer from 1 to 128, got 129'],
    [{ ipv6Prefix: -1 }, 'ipv6Prefix must be an integer from 1 to 128, got -1'],
    [{ ipv6Prefix: 56.5 }, 'ipv6Prefix must be an integer from 1 to 128, got 56.5'],
    [{ ipv6Prefix: Number.NaN }, 'ipv6Prefix must be an integer from 1 to 128, got NaN'],
    [{ ipv6Prefix: '56' }, 'ipv6Prefix must be an integer from 1 to 128, got "56"'],
    [{ ipv6Prefix: null }, 'ipv6Prefix must be an integer from 1 to 128, got null'],
    [{ rateLimit: 'sometimes' }, 'rateLimit must be one of "near", "always", "never", got "sometimes"'],
    [{ rateLimit: false }, 'rateLimit must be one of "near", "always", "never", got false'],
    [{ gate: {} }, 'gate must be made by createGate, got an object'],
    [{ gate: null }, 'gate must be made by createGate, got null'],
    [{ gate: createGate, fair: {} }, 'gate must be made by createGate, got a function'],
    [{ gate: createGate(), fair: {} }, 'fair is an option of the gate: give it to createGate, or leave gate out'],
    [{ gate: createGate(), shed: false }, 'shed is an option of the gate'],
    [{ gate: createGate(), stages: [] }, 'stages is an option of the gate'],
    [{ gate: createGate(), clock: () => 0 }, 'clock is an option of the gate'],
    [{ gate: createGate(), random: 4 }, 'random must be a function, got 4'],
    [{ random: null }, 'random must be a function, got null'],
    [{ clock: 'now' }, 'clock must be a function, got "now"'],
    [{ after: 100 }, 'after must be a function, got 100'],
    [{ stages: {} }, 'stages must be an array, got an object'],
    [{ stages: [1] }, 'stages must be an array of stages, got 1'],
    [{ stages: [{ name: '' }] }, 'stage.name must be a non-empty string, got ""'],
    [{ fair: true }, 'fair must be an object, got true'],
    [{ fair: null }, 'fair must be an object, got null'],
    [{ fair: { levels: 0 } }, 'fair.levels must be an integer >= 1, got 0'],
    [{ fair: { levels: Number.NaN } }, 'fair.levels must be an integer >= 1, got NaN'],
    [{ fair: { credit: 0 } }, 'fair.credit must be a number >= 1, got 0'],
    [{ fair: { buckets: 3 } }, 'fair has no option "buckets"'],
    [{ shed: true }, 'shed must be made by loadShedder(), got true'],
    [{ shed: null }, 'shed must be made by loadShedder(), got null'],
    [{ shed: [] }, 'shed must be made by loadShedder(), got an array'],
    [{ shed: { signal: () => 0 } }, 'shed must be made by loadShedder(), got an object'],
    [{ shed: loadShedder({ signal: () => 0, from: 1, to: 2, sampleEveryMs: 0 }) }, 'sampleEveryMs must be '],
    [{ shed: loadShedder({ signal: () => 0, from: 1, to: 2, sampleEveryMs: Number.NaN }) }, 'sampleEveryMs must be '],
    [{ shed: loadShedder({ signal: () => 0, from: -1, to: 2 }) }, 'from must be a number >= 0, got -1'],
    [{ shed: loadShedder({ signals: [] }) }, 'signals must be an array of at least one signal'],
    [{ queue: true }, 'queue must be made by requestQueue(), got true'],
    [{ queue: { concurrency: 4 } }, 'queue must be made by requestQueue(), got an object'],
    [{ queue: requestQueue({ concurrency: 0 }) }, 'concurrency must be '],
    [{ queue: requestQueue({ concurrency: 'many' as never }) }, 'concurrency must be '],
    [{ queue: requestQueue({ concurrency: 4, maxWaitMs: Number.NaN }) }, 'maxWaitMs must be '],
    [{ queue: requestQueue({ concurrency: 4, width: 5 }) }, 'width must be '],
    [{ gate: createGate(), queue: requestQueue({ concurrency: 4 }) }, 'queue is an option of the gate'],
  ])('%j is refused', (options, message) => expect(() => fairMiddleware(options)).toThrow(message))

  it('a mechanism refuses options that it does not know, where it is made', () => {
    expect(() => requestQueue({ concurrency: 4, size: 5 } as never)).toThrow('queue has no option "size"')
    expect(() => loadShedder({ threshold: 3 } as never)).toThrow('shed has no option "threshold"')
  })

  it.each([null, 1, 'default', [], true])('%j is no set of options', (options) =>
    expect(() => fairMiddleware(options as FairMiddlewareOptions)).toThrow('fairMiddleware must be an object, got '),
  )

  it.each<[FairMiddlewareOptions]>([
    [{}],
    [{ fair: false, shed: false }],
    [{ gate: createGate(), random: () => 0 }],
    [{ shed: loadShedder({ signals: defaultSignals(), sampleEveryMs: 200 }) }],
    [{ ipv6Prefix: 64, onError: 'refuse' }],
    [{ gate: createGate(), rateLimit: 'always' }],
  ])('%j is accepted', (options) => expect(fairMiddleware(options).gate.snapshot().closed).toBe(false))

  it('with a queue: sheds by event-loop delay later, because the queue bounds what runs', () => {
    const { stages } = fairMiddleware({ queue: requestQueue({ concurrency: 4 }) }).gate.snapshot()
    expect(stages).toMatchObject({
      shed: { signals: [{ name: 'memory' }, { name: 'heap' }, { name: 'event-loop-delay', from: 100, to: 500 }] },
    })
    expect(fairMiddleware({ queue: false }).gate.snapshot().stages).toMatchObject({
      shed: { signals: [{ from: 0.75 }, { name: 'heap' }, { name: 'event-loop-delay', from: 50, to: 250 }] },
    })
  })

  it('without options: FAIR, and shedding by memory, heap and event-loop delay', () => {
    const { stages } = fairMiddleware().gate.snapshot()
    expect(stages).toMatchObject({
      fair: { rule: 'fair-clock' },
      shed: { signals: [{ name: 'memory' }, { name: 'heap' }, { name: 'event-loop-delay' }] },
    })
  })

  it.each([undefined, null, 'handler', 1])('wrap refuses %j', (handler) =>
    expect(() => fairMiddleware().wrap(handler as never)).toThrow('wrap needs a request handler'),
  )

  it('wrap refuses error handlers', () => {
    const handler = (_error: unknown, _req: unknown, _res: unknown, _next: unknown): void => {}
    expect(() => fairMiddleware().wrap(handler as never)).toThrow('wrap needs a request handler')
  })
})

describe('wrap', () => {
  it('passes the types of a handler through', () => {
    const { wrap } = fairMiddleware({ fair: false, shed: false })
    const app = express()
    app.get(
      '/customers/:id',
      wrap((req: Request<{ id: string }>, res) => {
        const id: string = req.params.id
        res.send(id)
      }),
    )
    const typed: RequestHandler<{ id: string }, { name: string }, { rename: string }> = (req, res) => {
      res.json({ name: `${req.params.id} ${req.body.rename}` })
    }
    app.post('/customers/:id', wrap(typed))
    const plain: RequestHandler = wrap((req, res) => void res.json(req.body.anything))
    expect(plain).toBeTypeOf('function')
  })
})
