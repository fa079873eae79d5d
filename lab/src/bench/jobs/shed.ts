import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import {
  createGate,
  LoadShedder,
  type LoadSignal,
  loadShedder,
  logistic,
  type Permit,
  type ShedPermit,
} from '@fairlead/core'
import { eventLoopDelaySignal, memorySignal } from '@fairlead/core/node'
import underPressure from '@fastify/under-pressure'
import fastify from 'fastify'
import overloadProtection from 'overload-protection'
import { flowNames } from '../flow-names.js'
import { costOf } from '../measure.js'
import type { Section } from '../report/section.js'
import { behind } from './behind.js'
import type { Party } from './limiters.js'

/** A delay that is never reached: this benchmark blocks the event loop, and no shedder is to refuse. */
const NEVER_MS = 1e8

/** The default signals of the middleware. */
export function patientSignals(): LoadSignal[] {
  return [memorySignal(), eventLoopDelaySignal({ curve: logistic({ from: NEVER_MS, to: 10 * NEVER_MS }) })]
}

/** Decides whether this process can take one more request, beside the known load shedders. */
export async function shed(): Promise<Section> {
  const pressure = fastify()
  await pressure.register(underPressure, { maxEventLoopDelay: NEVER_MS, maxRssBytes: Number.MAX_SAFE_INTEGER })
  await pressure.ready()
  const protect = overloadProtection('http', { maxEventLoopDelay: NEVER_MS, maxRssBytes: Number.MAX_SAFE_INTEGER })
  const request = new IncomingMessage(new Socket())
  const response = new ServerResponse(request)
  const shedder = new LoadShedder({ signals: patientSignals() })
  const gate = createGate({ fair: false, shed: loadShedder({ signals: patientSignals() }) })
  const subjects: readonly [name: string, by: Party, work: (flow: string) => unknown][] = [
    ['Fairlead: `LoadShedder`, ask and finish', 'ours', () => (shedder.tryAdmit() as ShedPermit).finish()],
    [
      'Fairlead: gate with shedding only, admit and finish',
      'ours',
      (flow) => (gate.admit({ flow }) as Permit).finish('success'),
    ],
    ['overload-protection, its middleware', 'peer', () => protect(request, response)],
    ['@fastify/under-pressure, `isUnderPressure`', 'peer', () => pressure.isUnderPressure()],
    ['`performance.now()`, which ours reads once', 'floor', () => performance.now()],
  ]
  const names = flowNames(1_000)
  const measured: { name: string; by: Party; value: number; bytes: number }[] = []
  for (const [name, by, work] of subjects) {
    const { ns, bytes } = await costOf(work, names)
    measured.push({ name, by, value: ns, bytes })
  }
  protect.stop()
  await pressure.close()
  shedder.close()
  gate.close()
  const own = measured[0]!.value
  return {
    file: 'bench-shed',
    title: 'A shed decision',
    about: [
      'Memory and event-loop delay are watched, nothing is refused. The peers set a flag from a timer and only read ' +
        'it: at the moment of the decision it is as old as the sample, and either all requests are admitted or none. ' +
        'Fairlead reads the clock at each decision, includes the present lateness of its heartbeat, adds the requests ' +
        'admitted since the last sample of memory, and draws by the curve; its figure includes the outcome.',
    ],
    tables: [
      {
        title: 'Cost of a decision',
        head: ['', 'ns/op', 'bytes/op', '× the first'],
        rows: measured.map(({ name, value, bytes }) => [
          name,
          value.toFixed(0),
          bytes.toFixed(0),
          (value / own).toFixed(2),
        ]),
      },
    ],
    remarks: behind('time', measured),
  }
}
