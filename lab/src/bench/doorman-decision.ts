import { parseArgs } from 'node:util'
import type { AlgorithmKind, NamedParameter } from '@fairlead/core/doorman'
import { DoormanServer } from '@fairlead/doorman/server'
import { flowNames } from './flow-names.js'
import { costOf } from './measure.js'
import { machine } from './report/machine.js'
import { publish } from './report/publish.js'
import type { Section } from './report/section.js'

/**
 * Cost of a Doorman server's decision on one client's request: the call of `getCapacity` with one resource, in process,
 * in overload, for several numbers of clients that take turns; beside the published FAIR_SHARE, which our server also
 * has.
 *
 * Each client returns every 5 s with its lease, and asks for a new amount or the same as before.
 */
const CLIENTS = [1, 1_000, 10_000, 100_000]
const CAPACITY_EACH = 20
const ROUND_MS = 5_000

const published: NamedParameter[] = [{ name: 'compatible', value: 'published' }]

const forms: readonly [string, number[], boolean, AlgorithmKind, NamedParameter[]][] = [
  ['max-min, every wants new', CLIENTS, true, 'FAIR_SHARE', []],
  ['max-min, wants unchanged', CLIENTS, false, 'FAIR_SHARE', []],
  ['proportional, every wants new', CLIENTS, true, 'PROPORTIONAL_SHARE', []],
  ['published FAIR_SHARE, every wants new', [1, 1_000], true, 'FAIR_SHARE', published],
]

/**
 * A server with its clients, which take turns. Their state lies in flat arrays without lookups by name, because the
 * state of real clients is outside the server.
 */
function serverWith(clients: readonly string[], fresh: boolean, kind: AlgorithmKind, parameters: NamedParameter[]) {
  let nowMs = 0
  const capacity = CAPACITY_EACH * clients.length
  const algorithm = { kind, leaseLength: 300, refreshInterval: 16, parameters }
  const server = new DoormanServer({
    id: 'bench',
    repository: { resources: [{ identifierGlob: '*', capacity, algorithm }] },
    minimumIntervalMs: clients.length === 1 ? 0 : ROUND_MS,
    clock: () => nowMs,
  })
  const has = new Float64Array(clients.length)
  const expiry = new Float64Array(clients.length)
  const wants = new Float64Array(clients.length).map(() => 10 + 90 * Math.random())
  let i = 0
  return () => {
    nowMs += ROUND_MS / clients.length
    i = i + 1 === clients.length ? 0 : i + 1
    if (fresh) wants[i] = 10 + 90 * Math.random()
    const lease = { capacity: has[i]!, expiryTime: expiry[i]!, refreshInterval: 16 }
    const request = { resourceId: 'r', priority: 0, wants: wants[i]!, has: lease }
    const [answer] = server.getCapacity({ clientId: clients[i]!, resource: [request] }).response
    if (answer === undefined) throw new Error('asked again too early')
    has[i] = answer.gets.capacity
    expiry[i] = answer.gets.expiryTime
    return answer
  }
}

const rows: string[][] = []
for (const [form, sizes, fresh, kind, parameters] of forms) {
  const row = [form]
  for (const clients of CLIENTS) {
    const names = flowNames(clients)
    const measured = sizes.includes(clients)
    row.push(measured ? (await costOf(serverWith(names, fresh, kind, parameters), names)).ns.toFixed(0) : '-')
  }
  rows.push(row)
}

// A yardstick for the other figures: how fast this machine is at present.
const yardstick = (await costOf(() => performance.now() + Date.now(), ['clock'])).ns.toFixed(0)
rows.push(['`performance.now()` and `Date.now()`', yardstick, ...CLIENTS.slice(1).map(() => '')])

const section: Section = {
  file: 'bench-doorman-decision',
  title: 'A decision of a Doorman server',
  about: [
    'One client’s request for one resource, in process, in overload, with clients that take turns. Each brings its lease, ' +
      'and wants a new amount, or the same as before. Medians.',
  ],
  tables: [
    {
      id: 'decisions',
      title: 'ns per decision, by the number of clients',
      head: ['', ...CLIENTS.map((clients) => clients.toLocaleString('en'))],
      rows,
    },
  ],
  remarks: [],
}
const { values } = parseArgs({ options: { save: { type: 'boolean', default: false } } })
await publish(section, machine(), values.save)
