import { fork } from 'node:child_process'
import { once } from 'node:events'
import { node20, node22, node24, node26 } from '@fairlead-testing/runtimes'
import type { Container } from './container.js'
import type { Counts, Plan } from './memory-server.js'

/** The supported Nodes, by their major version; undefined if one is not installed for this platform. */
export const NODES: Readonly<Record<string, string | undefined>> = { 20: node20, 22: node22, 24: node24, 26: node26 }

/** Result of a server of `memory-server.ts`. */
export interface Course {
  readonly died: boolean
  /** Of the phases that it survived. */
  readonly counts: readonly Counts[]
}

/** Where a server runs. */
interface Place {
  readonly node: string
  /** `--max-old-space-size`; none in a container. */
  readonly heapMb?: number | undefined
  readonly box?: Container | undefined
}

/** Runs a plan in a process of its own, which may die. */
export async function run({ node, heapMb, box }: Place, plan: Plan): Promise<Course> {
  const child = fork(new URL('../../dist/bench/memory-server.js', import.meta.url), {
    execPath: node,
    execArgv: heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const counts: Counts[] = []
  child.on('message', (one: Counts) => counts.push(one))
  box?.add(child.pid!)
  child.send(plan)
  const [code] = (await once(child, 'exit')) as [number | null]
  return { died: code !== 0, counts }
}
