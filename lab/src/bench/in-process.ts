import { createGate, type FairOptions, type FairRuleName, FairTracker, logistic, type Permit } from '@fairlead/core'
import { eventLoopDelaySignal, memorySignal } from '@fairlead/core/node'
import { flowNames } from './flow-names.js'
import { type Cost, costOf } from './measure.js'
import { printTable } from './table.js'

/**
 * What one decision costs inside a process, beside the least that anything per flow can cost: a counter in a `Map`.
 * Nanoseconds are medians; the flows come in a shuffled order, so that caches are as cold as a server's.
 */
const COUNTS = [1_000, 100_000, 1_000_000]

interface Row {
  name: string
  flows: number
  cost: Cost
  floor: Cost
}

function mapCounter(): (flow: string) => void {
  const counts = new Map<string, { used: number }>()
  return (flow) => {
    const record = counts.get(flow)
    if (record) record.used++
    else counts.set(flow, { used: 1 })
  }
}

function registerAndReport(options: FairOptions, failures: number) {
  const tracker = new FairTracker(options)
  let call = 0
  return (flow: string): void => {
    if (!tracker.register(flow)) return
    tracker.report(flow, ++call % 100 < failures ? 'failure' : 'success')
  }
}

/** As a gate uses it: whoever calls has read the clock, and hands the time in. */
function registerAndReportAt(rule: FairRuleName): (flow: string) => void {
  const tracker = new FairTracker({ rule, clock: () => 0 })
  let nowMs = 0
  return (flow) => {
    nowMs++
    if (tracker.register(flow, nowMs)) tracker.report(flow, 'success', nowMs)
  }
}

function admitAndFinish(gate: ReturnType<typeof createGate>): (flow: string) => void {
  return (flow) => {
    const permit = gate.admit({ flow }) as Permit
    permit.finish('success')
  }
}

/** The default signals, with a delay that nothing reaches: this benchmark keeps the event loop to itself. */
function patientSignals(): ReturnType<typeof memorySignal>[] {
  return [memorySignal(), eventLoopDelaySignal({ curve: logistic({ from: 1e8, to: 1e9 }) })]
}

const subjects: readonly [name: string, make: () => (flow: string) => void][] = [
  ['fair clock, no shortage', () => registerAndReport({ rule: 'fair-clock' }, 0)],
  ['fair clock, time handed in', () => registerAndReportAt('fair-clock')],
  ['fair clock, 5 % failures', () => registerAndReport({ rule: 'fair-clock' }, 5)],
  ['blue, no shortage', () => registerAndReport({ rule: 'blue' }, 0)],
  ['blue, time handed in', () => registerAndReportAt('blue')],
  ['blue, 5 % failures', () => registerAndReport({ rule: 'blue' }, 5)],
  ['gate, FAIR', () => admitAndFinish(createGate())],
  ['gate, FAIR and shedding', () => admitAndFinish(createGate({ shed: { signals: patientSignals() } }))],
]

const rows: Row[] = []
for (const flows of COUNTS) {
  const names = flowNames(flows)
  const floor = await costOf(mapCounter(), names)
  rows.push({ name: 'a counter in a Map', flows, cost: floor, floor })
  for (const [name, make] of subjects) rows.push({ name, flows, cost: await costOf(make(), names), floor })
}
const few = flowNames(COUNTS[0]!)
const floor = rows[0]!.cost
const now = await costOf(() => performance.now(), few)
rows.push({ name: 'performance.now()', flows: few.length, cost: now, floor })
// Last: a process that has used both hashes runs neither as fast as one that keeps to its own.
const published = await costOf(registerAndReport({ rule: 'blue', hash: 'published' }, 0), few)
rows.push({ name: 'blue, published hash', flows: few.length, cost: published, floor })

printTable(
  ['operation', 'flows', 'ns', 'ns p99', 'bytes allocated', '× Map counter'],
  rows.map(({ name, flows, cost, floor }) => [
    name,
    flows.toLocaleString('en'),
    cost.ns.toFixed(0),
    cost.p99.toFixed(0),
    cost.bytes.toFixed(1),
    (cost.ns / floor.ns).toFixed(2),
  ]),
)
