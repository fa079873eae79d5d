/**
 * In-process cost of Fairlead, beside libraries that do the same job or a part of it.
 *
 *     pnpm bench [--job per-key | queue | shed | memory | ours | escrow] [--save]
 *
 * `--save` writes the results to `docs/benchmarks.md`, and to the pages that quote them.
 */
import { parseArgs } from 'node:util'
import { escrow } from './jobs/escrow.js'
import { memory } from './jobs/memory.js'
import { ours } from './jobs/ours.js'
import { perKey } from './jobs/per-key.js'
import { queue } from './jobs/queue.js'
import { shed } from './jobs/shed.js'
import { machine } from './report/machine.js'
import { publish } from './report/publish.js'
import type { Section } from './report/section.js'

const JOBS: Readonly<Record<string, () => Promise<Section>>> = { 'per-key': perKey, queue, shed, memory, ours, escrow }

const { values } = parseArgs({
  options: {
    job: { type: 'string', multiple: true, default: Object.keys(JOBS) },
    save: { type: 'boolean', default: false },
  },
})
for (const name of values.job)
  if (!(name in JOBS)) throw new RangeError(`--job is one of ${Object.keys(JOBS).join(', ')}; got '${name}'`)
for (const name of values.job) await publish(await JOBS[name]!(), machine(), values.save)
// Some of the peers keep a timer for ever.
process.exit()
