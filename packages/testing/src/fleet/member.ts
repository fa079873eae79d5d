import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { type ClockLink, createGate, type Sharing } from '@fairlead/core'

/** The load that {@link fleetContract} passes to a process. */
export interface FleetLoad {
  /** The name of the gate, by which its processes meet. */
  readonly gate: string
  /** Requests per second of each flow. */
  readonly rates: Readonly<Record<string, number>>
  /** Share of reports and leases that are lost. */
  readonly lost: number
}

/** A process's message to the contract. */
export interface FleetMessage {
  /** A request was admitted: the reply has the same number, and says whether it was served. */
  readonly id?: number
  readonly sharing?: Sharing | null
  /** Reports sent and requests made so far. */
  readonly reports?: number
  readonly asked?: number
}

/** The load of a process: its last argument, as JSON; or a thread's data. */
export function fleetLoad(): FleetLoad {
  return isMainThread ? JSON.parse(process.argv.at(-1) ?? '') : workerData
}

/**
 * Keeps asking its gate, regardless of the answers, as a process or thread that {@link fleetContract} has started. `fleet`: its link to the others. `close` is called before a regular end.
 */
export function runFleetMember(fleet?: ClockLink, close: () => unknown = () => {}): void {
  const { gate: name, rates, lost } = fleetLoad()
  let reports = 0
  let asked = 0
  const gate = createGate({ name, ...(fleet && { fleet: lossy(fleet, lost, () => reports++) }) })
  const waiting = new Map<number, (isServed: boolean) => void>()
  const tell = (message: FleetMessage): void => {
    if (parentPort) parentPort.postMessage(message)
    else process.send?.(message, undefined, undefined, () => {})
  }
  const hear = async (message: { id?: number; isServed?: boolean } | 'close'): Promise<void> => {
    if (message === 'close') {
      await close()
      process.exit()
    } else if (message.id !== undefined) {
      waiting.get(message.id)?.(message.isServed === true)
      waiting.delete(message.id)
    }
  }
  if (parentPort) parentPort.on('message', hear)
  else process.on('message', hear).once('disconnect', () => process.exit())

  async function ask(flow: string): Promise<void> {
    const id = asked++
    const permit = await gate.admit({ flow })
    if (!permit.admitted) return
    tell({ id })
    const isServed = await new Promise<boolean>((answer) => waiting.set(id, answer))
    permit.finish(isServed ? 'success' : 'failure')
  }
  for (const [flow, perSecond] of Object.entries(rates)) {
    const again = (): void => {
      setTimeout(again, (-Math.log(1 - Math.random()) * 1000) / perSecond)
      void ask(flow)
    }
    again()
  }
  setInterval(() => {
    const { sharing } = gate.snapshot().stages['fair'] as { sharing: Sharing | null }
    tell({ sharing, reports, asked })
  }, 50)
}

function lossy(link: ClockLink, lost: number, count: () => void): ClockLink {
  const { after } = link
  return {
    ...(after && { after }),
    join(name, hear) {
      const send = link.join(name, (lease, waitedMs) => {
        if (Math.random() >= lost) hear(lease, waitedMs)
      })
      return (report, member) => {
        count()
        if (Math.random() >= lost) send(report, member)
      }
    },
  }
}
