import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, expect, it } from 'vitest'
import type { Permit } from '../admission/decision.js'
import type { Gate } from '../admission/gate.js'
import { createGate } from '../create-gate.js'
import { requestQueue } from '../queue/request-queue.js'
import { manualClock } from '../testing/manual-clock.js'
import type { AdmitContext, EngagedMessage, FinishedMessage, RefusedMessage } from './channels.js'

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

/** Collects the messages of one gate on a channel: others in this process publish, too. */
function hear<Message extends { gate: Gate }>(channel: string, gate: Gate): Message[] {
  const heard: Message[] = []
  const listen = (message: unknown): void => {
    if ((message as Message).gate === gate) heard.push(message as Message)
  }
  subscribe(channel, listen)
  stops.push(() => unsubscribe(channel, listen))
  return heard
}

it('each refusal is published, with the gate that refused', () => {
  const gate = createGate()
  const heard = hear<RefusedMessage>('fairlead.refused', gate)
  gate.close()
  const refusal = gate.admit({ flow: 'tenant-7', cost: 3 })
  expect(heard).toEqual([{ gate, flow: 'tenant-7', cost: 3, refusal }])
})

it('each end is published, with what it really cost and how long it took', () => {
  const clock = manualClock()
  const gate = createGate({ clock })
  const heard = hear<FinishedMessage>('fairlead.finished', gate)
  const permit = gate.admit({ flow: 'tenant-7', cost: 3 }) as Permit
  clock.advance(250)
  permit.finish('failure', { cost: 5 })
  expect(heard).toEqual([{ gate, flow: 'tenant-7', cost: 5, outcome: 'failure', durationMs: 250 }])
})

it('the beginning and the end of a shortage are published once each', () => {
  const clock = manualClock()
  const gate = createGate({ clock })
  const heard = hear<EngagedMessage>('fairlead.engaged', gate)
  let spare = 10
  /** For `seconds`, ten flows send `rate` requests a second in all to a resource that serves 100. */
  const ask = (rate: number, seconds: number): void => {
    for (let i = 0; i < rate * seconds; i++) {
      clock.advance(1_000 / rate)
      spare = Math.min(10, spare + 100 / rate)
      const decision = gate.admit({ flow: `tenant-${i % 10}` })
      if (decision instanceof Promise || !decision.admitted) continue
      const isServed = spare >= 1
      if (isServed) spare--
      decision.finish(isServed ? 'success' : 'failure')
    }
  }
  ask(300, 20)
  expect(heard).toEqual([{ gate, engaged: true }])
  ask(10, 60)
  expect(heard).toEqual([
    { gate, engaged: true },
    { gate, engaged: false },
  ])
})

it('a wait is traced from when it begins to its decision, and what does not wait is not', async () => {
  const clock = manualClock()
  const gate = createGate({ clock, queue: requestQueue({ concurrency: 1 }) })
  const steps: [step: string, waitedMs: number | undefined][] = []
  const step = (name: string) => (message: unknown) => {
    const { gate: from, flow, result } = message as AdmitContext
    if (from === gate) steps.push([`${name} ${flow}`, result?.admitted === true ? result.waitedMs : undefined])
  }
  const listeners = {
    start: step('start'),
    end: step('end'),
    asyncStart: step('asyncStart'),
    asyncEnd: step('asyncEnd'),
    error: step('error'),
  }
  tracingChannel('fairlead:admit').subscribe(listeners)
  stops.push(() => tracingChannel('fairlead:admit').unsubscribe(listeners))

  const first = gate.admit({ flow: 'a' }) as Permit
  const second = gate.admit({ flow: 'b' })
  const third = gate.admit({ flow: 'c' })
  expect(steps.map(([name]) => name)).toEqual(['start b', 'end b', 'start c', 'end c'])
  steps.length = 0
  clock.advance(40)
  first.finish('success')
  expect((await second).admitted).toBe(true)
  gate.close()
  expect(await third).toMatchObject({ admitted: false, reason: 'closed' })
  expect(steps).toEqual([
    ['asyncStart b', 40],
    ['asyncEnd b', 40],
    ['asyncStart c', undefined],
    ['asyncEnd c', undefined],
  ])
})
