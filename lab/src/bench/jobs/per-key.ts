import { flowNames } from '../flow-names.js'
import { type Cost, costOf } from '../measure.js'
import type { Section } from '../report/section.js'
import { behind } from './behind.js'
import { LIMITERS, type Party } from './limiters.js'

const COUNTS = [1_000, 100_000]

/** A decision per key, beside the memory stores of the known limiters. */
export async function perKey(): Promise<Section> {
  const rows: string[][] = []
  const remarks: string[] = []
  for (const flows of COUNTS) {
    const names = flowNames(flows)
    const measured: { name: string; by: Party; cost: Cost }[] = []
    for (const { name, by, make } of LIMITERS) measured.push({ name, by, cost: await costOf(make(), names) })
    const own = measured[0]!.cost
    const count = flows.toLocaleString('en')
    for (const { name, cost } of measured)
      rows.push([name, count, cost.ns.toFixed(0), cost.bytes.toFixed(0), (cost.ns / own.ns).toFixed(2)])
    const times = measured.map(({ name, by, cost }) => ({ name, by, value: cost.ns }))
    remarks.push(...behind(`time, ${count} flows`, times))
  }
  return {
    file: 'bench-per-key',
    title: 'A decision per key',
    about: [
      'One decision after the other, nothing refused; keys of 36 characters in a shuffled order, each seen before. ' +
        'Nanoseconds are medians, and returned promises are awaited. The limiters count requests in a window of a ' +
        'minute. FAIR learns from the outcomes of requests, so its figure includes two calls; a budget also divides ' +
        'unused shares by weight. It keeps its default of 10,000 tenants here; all flows beyond them count as one.',
    ],
    tables: [{ title: 'Cost of a decision', head: ['', 'flows', 'ns/op', 'bytes/op', '× the first'], rows }],
    remarks,
  }
}
