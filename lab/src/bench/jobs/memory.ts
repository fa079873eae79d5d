import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Section } from '../report/section.js'
import { behind } from './behind.js'
import { LIMITERS, type Party } from './limiters.js'

const PROCESS = fileURLToPath(new URL('../memory-process.js', import.meta.url))
const FLOWS = 1_000_000

/** Memory of a limiter, in bytes. */
export interface Held {
  /** Before it has seen a flow. */
  readonly empty: number
  readonly full: number
}

/** Memory for a million flows, each limiter in a process of its own. */
export async function memory(): Promise<Section> {
  const held: (Held & { name: string; by: Party })[] = []
  for (const [index, { name, by }] of LIMITERS.entries()) held.push({ name, by, ...(await heldBy(index)) })
  return {
    file: 'bench-memory',
    title: 'Memory for a million flows',
    about: [
      `Each of ${FLOWS.toLocaleString('en')} flows asks once, inside a window. Heap and buffers after a collection, ` +
        "without the names themselves. FAIR's sketch is as large before the first flow as after the last." +
        ' A budget keeps its default of 10,000 tenants; all flows beyond them count as one, so it does not compare with ' +
        'a store that knows every key.',
    ],
    tables: [
      {
        title: 'Memory held',
        head: ['', 'MB when made', `MB after ${FLOWS.toLocaleString('en')} flows`, 'bytes per flow'],
        rows: held.map(({ name, empty, full }) => [
          name,
          (Math.max(0, empty) / 1e6).toFixed(1),
          (full / 1e6).toFixed(1),
          (Math.max(0, full - empty) / FLOWS).toFixed(0),
        ]),
      },
    ],
    remarks: behind(
      'memory',
      held.map(({ name, by, full }) => ({ name, by, value: full })),
    ),
  }
}

async function heldBy(index: number): Promise<Held> {
  const child = fork(PROCESS, [`${index}`, `${FLOWS}`], { execArgv: ['--expose-gc', '--max-old-space-size=4096'] })
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')])
  if (typeof message !== 'object')
    throw new Error(`The process of ${LIMITERS[index]!.name} ended before it had measured`)
  return message as Held
}
