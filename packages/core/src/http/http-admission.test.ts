import { describe, expect, it, vi } from 'vitest'
import type { Permit } from '../admission/decision.js'
import { createGate } from '../create-gate.js'
import { escrow } from '../escrow/mechanism.js'
import { requestQueue } from '../queue/request-queue.js'
import { loadShedder } from '../shed/load-shedder.js'
import { limitStage, probeStage } from '../testing/stages.js'
import { UNKNOWN_ADDRESS } from './address-flow.js'
import type { Framework } from './http-admission.js'
import { NodeAdmission } from './node-admission.js'
import type { HttpOptions } from './options.js'

interface Call {
  address?: string
  key?: string
}

const idle = loadShedder({
  signal: { name: 'idle', curve: { from: 1, to: 2, probability: () => 0 }, read: () => 0 },
})

const framework: Framework<[call: Call]> = {
  name: 'test',
  address(call) {
    if (call.address === 'broken') throw new Error('who is a proxy?')
    return call.address
  },
  status: () => 200,
  shed: () => idle,
}

function admission(options: HttpOptions<[call: Call]> = {}): NodeAdmission<[call: Call]> {
  return new NodeAdmission(framework, { onWarning: () => {}, ...options })
}

describe('what adapters have in common', () => {
  it('keeps the name of a request whose cost is none, or fails, with it or apart', async () => {
    const rejects = (): Promise<never> => Promise.reject(new Error('later'))
    const throws = (): never => {
      throw new Error('at once')
    }
    for (const cost of [() => Number.NaN, () => 0, async () => Number.NaN, rejects, throws])
      for (const flow of [({ key }: Call) => key, async ({ key }: Call) => key]) {
        const subject = admission({ flow, cost })
        const call = { key: 'acme', address: '1.2.3.4' }
        const decision = await subject.ask(subject.visit([call], undefined))
        expect(decision).toMatchObject({ admitted: true, flow: 'acme', cost: 1 })
      }
  })

  it('hears of both where the name is refused later and the cost at once: the process would end', async () => {
    const flow = (): Promise<never> => Promise.reject(new Error('later'))
    const cost = (): never => {
      throw new Error('at once')
    }
    const subject = admission({ flow, cost })
    const decision = await subject.ask(subject.visit([{ address: '1.2.3.4' }], undefined))
    expect(decision).toMatchObject({ admitted: true, flow: 'ip:1.2.3.4' })
  })

  it('keeps the name of a request whose address cannot be told', async () => {
    const subject = admission({ flow: ({ key }) => key })
    const decision = await subject.ask(subject.visit([{ key: 'acme', address: 'broken' }], undefined))
    expect(decision).toMatchObject({ admitted: true, flow: 'acme' })
  })

  it('makes a gate of FAIR and shedding by the signals of the framework', () => {
    expect(Object.keys(admission().gate.snapshot().stages)).toEqual(['fair', 'shed'])
    expect(Object.keys(admission({ shed: idle, fair: false }).gate.snapshot().stages)).toEqual(['shed'])
    expect(Object.keys(admission({ fair: false, shed: false }).gate.snapshot().stages)).toEqual([])
  })

  it('sheds nothing by itself where the framework has nothing to shed by', () => {
    const blind = { ...framework, shed: () => false as const }
    expect(Object.keys(new NodeAdmission(blind, {}).gate.snapshot().stages)).toEqual(['fair'])
    expect(() => new NodeAdmission(blind, { shed: true as never })).toThrow('shed')
  })

  it('asks for shedding only if it is needed, and says whether requests will wait', () => {
    const shed = vi.fn(framework.shed)
    new NodeAdmission({ ...framework, shed }, { shed: false })
    new NodeAdmission({ ...framework, shed }, { shed: loadShedder({ signal: () => 0, from: 1, to: 2 }) })
    new NodeAdmission({ ...framework, shed }, { gate: createGate() })
    expect(shed).not.toHaveBeenCalled()
    new NodeAdmission({ ...framework, shed }, {})
    new NodeAdmission({ ...framework, shed }, { queue: requestQueue({ concurrency: 2 }) })
    expect(shed.mock.calls).toEqual([[false], [true]])
  })

  it('does not heed options that are changed after they were checked', () => {
    const probe = probeStage()
    const options: HttpOptions<[call: Call]> = { fair: false, shed: false, stages: [probe], flow: () => 'before' }
    const subject = new NodeAdmission(framework, options)
    options.flow = () => 'after'
    subject.ask(subject.visit([{}], undefined))
    expect(probe.passages[0]?.flow).toBe('before')
  })

  describe.each(['flow', 'cost', 'skip'] as const)('a promise of %s that is not kept', (option) => {
    function waiting(onError: 'address' | 'admit') {
      let keep = (_: undefined): void => {}
      const promise = new Promise<undefined>((resolve) => (keep = resolve))
      const onWarning = vi.fn()
      const subject = admission({ fair: false, shed: false, onError, onWarning, [option]: () => promise })
      const visit = subject.visit([{}], undefined)
      const { gate } = subject
      return { subject, visit, gate, keep: () => keep(undefined), onWarning, answer: subject.ask(visit) }
    }

    it.each(['address', 'admit'] as const)('lasts until the client leaves, with onError %s', async (onError) => {
      const { visit, gate, keep, onWarning, answer } = waiting(onError)
      expect(gate.snapshot().waiting).toBe(1)
      visit.responseEnded(true)
      expect(gate.snapshot().waiting).toBe(0)
      expect(await answer).toMatchObject({ admitted: false, reason: 'gone' })
      keep()
      await new Promise(setImmediate)
      expect(gate.snapshot()).toMatchObject({ waiting: 0, refused: 1, refusedBy: { 'gate:gone': 1 } })
      expect(onWarning).not.toHaveBeenCalled()
    })

    it.each(['address', 'admit'] as const)('lasts until the gate closes, with onError %s', async (onError) => {
      const { subject, gate, keep, onWarning, answer } = waiting(onError)
      gate.close()
      expect(await answer).toMatchObject({ admitted: false, reason: 'closed' })
      expect(await subject.ask(subject.visit([{}], undefined))).toMatchObject({ reason: 'closed' })
      keep()
      await new Promise(setImmediate)
      expect(gate.snapshot()).toMatchObject({ waiting: 0, refused: 2, refusedBy: { 'gate:closed': 2 } })
      expect(onWarning).not.toHaveBeenCalled()
    })

    it('counts as waiting only until it is kept', async () => {
      const { gate, keep, answer } = waiting('address')
      keep()
      expect(await answer).toMatchObject({ admitted: true })
      expect(gate.snapshot()).toMatchObject({ waiting: 0, inFlight: 1 })
    })
  })

  it.each([
    [{ address: '::ffff:1.2.3.4' }, 'ip:1.2.3.4'],
    [{}, UNKNOWN_ADDRESS],
    [{ address: 'broken' }, UNKNOWN_ADDRESS],
  ])('names the flow of %j: %s', (call, flow) => {
    const probe = probeStage()
    const subject = admission({ fair: false, shed: false, stages: [probe] })
    subject.ask(subject.visit([call], undefined))
    expect(probe.passages[0]?.flow).toBe(flow)
  })

  it.each(['1.2.3.4', 'ip:1.2.3.4', 'ip:ip:1.2.3.4', 'ip:unknown', '::ffff:1.2.3.4'])(
    'keeps a client named %s apart from every address, and from clients of other names',
    (name) => {
      const probe = probeStage()
      const subject = admission({ fair: false, shed: false, stages: [probe], flow: ({ key }) => key })
      const others: Call[] = [{ address: '1.2.3.4' }, {}, { key: `ip:${name}` }, { key: name.slice(3) }]
      for (const call of [{ key: name }, ...others]) subject.ask(subject.visit([call], undefined))
      const [own, ...flows] = probe.passages.map(({ flow }) => flow)
      expect(flows).toHaveLength(4)
      expect(flows).not.toContain(own)
    },
  )

  it('warns once of an option that fails with every request, and a warning that throws has no effect', () => {
    const onWarning = vi.fn(() => {
      throw new Error('nobody listens')
    })
    const fault = new Error('no key')
    const flow = (): string => {
      throw fault
    }
    const subject = admission({ flow, onWarning })
    for (let i = 0; i < 100; i++) subject.ask(subject.visit([{ address: '1.2.3.4' }], undefined))
    expect(onWarning.mock.calls).toEqual([["An option failed: onError, 'address', decides.", fault]])
  })

  it('a warning that rejects does not end the process', async () => {
    const onWarning = vi.fn(async () => {
      throw new Error('nobody listens')
    })
    const subject = admission({ flow: () => Promise.reject(new Error('no key')), onWarning })
    await subject.ask(subject.visit([{ address: '1.2.3.4' }], undefined))
    await new Promise((resolve) => setImmediate(resolve))
    expect(onWarning).toHaveBeenCalledOnce()
  })

  it('warns on the console by default', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const subject = new NodeAdmission(framework, {})
    subject.ask(subject.visit([{ address: 'broken' }], undefined))
    expect(warn).toHaveBeenCalledOnce()
    warn.mockRestore()
  })

  it('says that clients have no address once ten in a row were answered, and not of those that have gone', () => {
    const onWarning = vi.fn()
    const subject = admission({ onWarning })
    const answer = (call: Call, aborted: boolean): void => {
      const visit = subject.visit([call], undefined)
      const decision = subject.ask(visit)
      if (decision === undefined || decision instanceof Promise || !decision.admitted) throw new Error('not admitted')
      visit.admit(decision)
      visit.responseEnded(aborted)
    }
    for (let i = 0; i < 100; i++) answer({}, true)
    for (let i = 0; i < 100; i++) answer(i % 8 === 0 ? { address: '1.2.3.4' } : {}, false)
    expect(onWarning).not.toHaveBeenCalled()
    for (let i = 0; i < 30; i++) answer({}, false)
    expect(onWarning).toHaveBeenCalledOnce()
    expect(onWarning.mock.calls[0]?.[0]).toMatch(/^No client address to name a flow by: there is none/)
  })

  it('makes no signal for a request that need not wait', () => {
    const controller = vi.spyOn(globalThis, 'AbortController')
    const subject = admission({ fair: false, shed: false, stages: [limitStage(1, { waiters: 1 })] })
    subject.ask(subject.visit([{ address: '1.2.3.4' }], undefined))
    expect(controller).not.toHaveBeenCalled()
    expect(subject.ask(subject.visit([{ address: '1.2.3.4' }], undefined))).toBeInstanceOf(Promise)
    expect(controller).toHaveBeenCalledOnce()
    controller.mockRestore()
  })

  it('lets a client leave the line, though an option failed', async () => {
    const flow = (): string => {
      throw new Error('no key')
    }
    const limit = limitStage(1, { waiters: 1 })
    const subject = admission({ fair: false, shed: false, stages: [limit], flow })
    subject.ask(subject.visit([{ address: '1.2.3.4' }], undefined))
    const visit = subject.visit([{ address: '1.2.3.4' }], undefined)
    const decision = subject.ask(visit)
    visit.responseEnded(true)
    expect(limit.waiting).toBe(0)
    expect(await decision).toMatchObject({ reason: 'gone' })
  })

  it('refuses a client that has left already as gone', () => {
    const subject = admission()
    const visit = subject.visit([{ address: '1.2.3.4' }], undefined)
    visit.responseEnded(true)
    expect(subject.ask(visit)).toMatchObject({ admitted: false, reason: 'gone' })
  })

  it('warns once of a stage whose quota throws, and tells clients nothing of it', () => {
    const onWarning = vi.fn()
    const fault = new Error('no quota')
    const quota = (): never => {
      throw fault
    }
    const stage = { name: 'odd', admit: () => ({ finish: () => {}, undo: () => {}, quota }) }
    const subject = admission({ fair: false, shed: false, stages: [stage], onWarning })
    const permit = subject.ask(subject.visit([{ address: '1.2.3.4' }], undefined)) as Permit
    for (let i = 0; i < 2; i++) expect(subject.fields(permit)).toBeUndefined()
    expect(onWarning.mock.calls).toEqual([['The quota of a stage failed: responses do not report it.', fault]])
  })

  it('touches no response that has nothing to tell', () => {
    const subject = admission({ budget: escrow({ limit: 100, windowMs: 1_000 }), shed: false })
    const permit = subject.ask(subject.visit([{ address: '1.2.3.4' }], undefined)) as Permit
    const writeHead = vi.fn()
    const response = { headersSent: false, getHeader: vi.fn(), setHeader: vi.fn(), writeHead }
    subject.tell(permit, response)
    expect(response.writeHead).toBe(writeHead)
  })

  it('jitters Retry-After by the injected chance', () => {
    const seconds = (draw: number): number | undefined => {
      const subject = admission({ gate: createGate(), random: () => draw })
      subject.gate.close()
      const decision = subject.ask(subject.visit([{ address: '1.2.3.4' }], undefined))
      if (decision === undefined || decision instanceof Promise || decision.admitted) throw new Error('not refused')
      return subject.refusal(decision).retryAfterSeconds
    }
    expect([seconds(0), seconds(0.999)]).toEqual([1, 2])
  })
})
