import { seededRandom } from '@fairlead/core/testing'
import type { Framework, Guard } from './framework.js'
import { GUARDS } from './guards.js'
import { connectAll, load, warmUp } from './load.js'
import { arrivals } from './scenario.js'
import type { Account } from './server.js'
import { ServerProcess } from './server-process.js'
import { type Summary, summarise } from './summary.js'

/** A server and the results of its clients. */
export interface Run {
  readonly framework: Framework
  readonly guard: Guard
  readonly summary: Summary
  readonly account: Account
}

/** A framework's file, and the seed of the load on its servers. */
export interface Entry {
  readonly name: string
  readonly seed: number
}

/**
 * Runs the frameworks' servers, all guards, side by side; all servers of a framework receive the same load at the same
 * times.
 */
export async function runAll(entries: readonly Entry[], seconds: number): Promise<Run[]> {
  const started: { framework: Framework; guard: Guard; server: ServerProcess; seed: number }[] = []
  try {
    // One after the other, and all before the load begins: the start is what needs the processor.
    for (const { name, seed } of entries) {
      const { framework } = (await import(`./${name}.js`)) as { framework: Framework }
      for (const guard of GUARDS)
        started.push({ framework, guard, server: await ServerProcess.start(name, guard), seed })
    }
    const clients = await Promise.all(
      started.map(async ({ server }) => {
        await warmUp(server.port)
        return connectAll(server.port)
      }),
    )
    return await Promise.all(
      started.map(async ({ framework, guard, server, seed }, i): Promise<Run> => {
        const answers = await load(clients[i]!, arrivals(seconds, seededRandom(seed)))
        return { framework, guard, summary: summarise(answers, seconds), account: await server.account() }
      }),
    )
  } finally {
    for (const { server } of started) server.stop()
  }
}
