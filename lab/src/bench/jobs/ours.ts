import { blue, createGate, type FairOptions, FairTracker, loadShedder, type Permit } from '@fairlead/core'
import { PublishedPlacement } from '@fairlead-testing/oracles'
import { flowNames } from '../flow-names.js'
import { type Cost, costOf } from '../measure.js'
import type { Section } from '../report/section.js'
import { patientSignals } from './shed.js'

const COUNTS = [1_000, 100_000, 1_000_000]

/** Cost of one decision, beside the cheapest possible state per flow: a counter in a `Map`. */
export async function ours(): Promise<Section> {
  const rows: string[][] = []
  const add = (name: string, flows: number, cost: Cost, floor: Cost): void => {
    const ratio = (cost.ns / floor.ns).toFixed(2)
    rows.push([name, flows.toLocaleString('en'), cost.ns.toFixed(0), cost.p99.toFixed(0), cost.bytes.toFixed(1), ratio])
  }
  let first: Cost | undefined
  for (const flows of COUNTS) {
    const names = flowNames(flows)
    const floor = await costOf(mapCounter(), names)
    first ??= floor
    add('a counter in a `Map`', flows, floor, floor)
    for (const [name, make] of SUBJECTS) add(name, flows, await costOf(make(), names), floor)
  }
  const few = flowNames(COUNTS[0]!)
  add('`performance.now()`', few.length, await costOf(() => performance.now(), few), first!)
  // Last: a process that has used both hashes is slower with each than a process that uses only one.
  const published = await costOf(
    registerAndReport(blue({ placement: (buckets, random) => new PublishedPlacement(buckets, random) }), 0),
    few,
  )
  add('FAIR, `blue`, published hash', few.length, published, first!)
  return {
    file: 'bench-ours',
    title: 'Our own decisions',
    about: ['Keys of 36 characters in a shuffled order, so that caches are as cold as those of a server. Medians.'],
    tables: [
      {
        title: 'Cost of a decision, beside the cheapest possible state per flow',
        head: ['', 'flows', 'ns/op', 'ns p99', 'bytes/op', '× `Map` counter'],
        rows,
      },
    ],
    remarks: [],
  }
}

const SUBJECTS: readonly [name: string, make: () => (flow: string) => void][] = [
  ['FAIR, no shortage', () => registerAndReport({}, 0)],
  ['FAIR, time handed in', () => registerAndReportAt({})],
  ['FAIR, 5 % failures', () => registerAndReport({}, 5)],
  ['FAIR, `blue`, no shortage', () => registerAndReport(blue(), 0)],
  ['FAIR, `blue`, time handed in', () => registerAndReportAt(blue())],
  ['FAIR, `blue`, 5 % failures', () => registerAndReport(blue(), 5)],
  ['gate, FAIR', () => admitAndFinish(createGate())],
  ['gate, FAIR and shedding', () => admitAndFinish(createGate({ shed: loadShedder({ signals: patientSignals() }) }))],
]

function mapCounter(): (flow: string) => void {
  const counts = new Map<string, { used: number }>()
  return (flow) => {
    const record = counts.get(flow)
    if (record) record.used++
    else counts.set(flow, { used: 1 })
  }
}

function registerAndReport(options: FairOptions, failures: number): (flow: string) => void {
  const tracker = new FairTracker(options)
  let call = 0
  return (flow) => {
    if (!tracker.register(flow)) return
    tracker.report(flow, ++call % 100 < failures ? 'failure' : 'success')
  }
}

/** As a gate uses it: the caller has read the clock and passes the time. */
function registerAndReportAt(fair: FairOptions): (flow: string) => void {
  const tracker = new FairTracker({ ...fair, clock: () => 0 })
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
