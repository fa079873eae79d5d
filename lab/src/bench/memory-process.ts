/** Started by `jobs/memory.ts` with the index of a limiter and a number of flows: tells what it holds, and ends. */
import { flowNames } from './flow-names.js'
import { LIMITERS } from './jobs/limiters.js'
import type { Held } from './jobs/memory.js'

const [index, flows] = process.argv.slice(2).map(Number)
// Each in one piece, and with its hash: what a text turns into when it is first looked up is nobody's doing.
const names = flowNames(flows!).map((name) => Buffer.from(name).toString('latin1'))
for (const name of names) new Map().set(name, 0)
const before = used()
const decide = LIMITERS[index!]!.make()
const empty = used() - before
for (const name of names) await decide(name)
const held: Held = { empty, full: used() - before }
// What nobody needs any more might be collected too early.
for (const name of names) await decide(name)
process.send?.(held, () => process.exit())

function used(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
