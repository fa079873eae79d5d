/**
 * Started by `jobs/memory.ts` with the index of a limiter and a number of flows: reports the memory that the limiter
 * holds, and ends.
 */
import { flowNames } from './flow-names.js'
import { LIMITERS } from './jobs/limiters.js'
import type { Held } from './jobs/memory.js'

const [index, flows] = process.argv.slice(2).map(Number)
// Each as a flat string with its hash, so that conversions at the first lookup do not count for a limiter.
const names = flowNames(flows!).map((name) => Buffer.from(name).toString('latin1'))
for (const name of names) new Map().set(name, 0)
const before = used()
const decide = LIMITERS[index!]!.make()
const empty = used() - before
for (const name of names) await decide(name)
const held: Held = { empty, full: used() - before }
// Keeps the limiter reachable, so that it is not collected too early.
for (const name of names) await decide(name)
process.send?.(held, () => process.exit())

function used(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
