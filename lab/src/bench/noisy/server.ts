/**
 * The process of one server: started with a framework's file and a guard, it reports its port, and its gate's account
 * on request. Every process has a resource of its own.
 */
import type { Framework, Guard } from './framework.js'
import { RESOURCE } from './scenario.js'
import { BucketCapacity, TokenBucket } from './token-bucket.js'

/** What the gate of a server reports at the end. */
export interface Account {
  /** FAIR's rule; undefined without a gate. */
  readonly rule: string | undefined
  readonly refusedBy: Readonly<Record<string, number>>
}

const [name, guard] = process.argv.slice(2)
const { framework } = (await import(`./${name}.js`)) as { framework: Framework }
const bucket = new TokenBucket(RESOURCE, () => performance.now())
const capacity = new BucketCapacity(bucket, (ms, tell) => {
  const timer = setTimeout(tell, ms)
  return () => clearTimeout(timer)
})
// Behind the queue a request has its token when it starts.
const use = guard === 'fairlead queue' ? () => true : () => bucket.take()
const { port, gate } = await framework.serve({ guard: guard as Guard, use, capacity })
process.on('message', () => {
  const snapshot = gate?.snapshot()
  const fair = snapshot?.stages['fair'] as { rule?: string } | undefined
  process.send?.({ rule: fair?.rule, refusedBy: snapshot?.refusedBy ?? {} } satisfies Account)
})
process.on('disconnect', () => process.exit())
process.send?.({ port })
