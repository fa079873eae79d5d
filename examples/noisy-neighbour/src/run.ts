import { once } from 'node:events'
import { seededRandom } from '@fairlead/core/testing'
import { measureCapacity, runLoad, warmUp } from './load.js'
import type { Options } from './options.js'
import { type Client, population } from './population.js'
import { showProgress } from './progress.js'
import { headline, type Report, terminalTables } from './report.js'
import { save } from './save.js'
import { type Arrival, schedule } from './schedule.js'
import { type ServerProcess, startServer } from './server-process.js'
import { summarise } from './summary.js'
import { Tally } from './tally.js'

/** All requests of a phase, with their clients and times. */
interface Demand {
  readonly clients: readonly Client[]
  readonly arrivals: readonly Arrival[]
  readonly seconds: number
}

/**
 * Runs both phases, prints and saves the results, and then leaves the server running until Ctrl-C, unless `once` is
 * set. Rejects if a server dies or serves nothing.
 */
export async function run(options: Options): Promise<void> {
  const { seconds, seed, resource, load } = options
  const bare = await startWarm(resource, 'bare')
  const capacity = await bare.whileAlive(measureCapacity(bare.url, resource))
  const clients = population(capacity, load)
  const rates = clients.map(({ asksPerSecond }) => asksPerSecond)
  const demand = { clients, arrivals: schedule(rates, seconds, seededRandom(seed)), seconds }
  const thing = resource === 'pool' ? 'its database' : 'its processor'
  console.log(`A server can do ${capacity.toFixed(0)} requests/s with ${thing} (measured).`)
  console.log(`18 quiet clients and 2 heavy ones ask ${(capacity * load).toFixed(0)} requests/s, the same twice.\n`)

  const without = await phase('without Fairlead', bare, demand)
  await bare.stop()
  const fair = await startWarm(resource, 'fair')
  const withFairlead = await phase('with Fairlead   ', fair, demand)

  const report: Report = {
    options: { seconds, seed, resource, load },
    capacity,
    without: summarise(without, capacity, seconds),
    with: summarise(withFairlead, capacity, seconds),
  }
  console.log(`\n${terminalTables(report)}\n\n${headline(report)}\n`)
  for (const path of await save(report, { without, with: withFairlead }, options.out)) console.log(`wrote ${path}`)

  if (!options.once) await letPlay(fair)
  await fair.stop()
}

/** Lengths of a round, in seconds: first the quiet clients alone, then the heavy ones as well. */
const ALONE = 30
const TOGETHER = 60

/** Runs the load against the server with Fairlead, round after round, until Ctrl-C: for watching on the console. */
export async function watch({ seed, resource, load }: Options): Promise<void> {
  const bare = await startWarm(resource, 'bare')
  const capacity = await bare.whileAlive(measureCapacity(bare.url, resource))
  await bare.stop()
  const clients = population(capacity, load)
  const fair = await startWarm(resource, 'fair')
  console.log(`A server can do ${capacity.toFixed(0)} requests/s (measured). Watch it: ${fair.url}fairlead`)
  console.log(
    `Rounds of ${ALONE} s in which 18 quiet clients ask, and ${TOGETHER} s in which 2 heavy ones do, too. Ctrl-C ends it.`,
  )
  const stopped = once(process, 'SIGINT').then(() => true)
  for (let round = 0; ; round++) {
    const random = seededRandom(seed + round)
    const quiet = clients.map(({ manner, asksPerSecond }) => (manner === 'quiet' ? asksPerSecond : 0))
    const all = clients.map(({ asksPerSecond }) => asksPerSecond)
    const later = schedule(all, TOGETHER, random).map((arrival) => ({ ...arrival, atMs: arrival.atMs + 1_000 * ALONE }))
    const work = runLoad(fair.url, [...schedule(quiet, ALONE, random), ...later], new Tally(clients)).then(() => false)
    if (await fair.whileAlive(Promise.race([stopped, work]))) break
  }
  await fair.stop()
  process.exit()
}

async function startWarm(resource: Options['resource'], guard: 'bare' | 'fair'): Promise<ServerProcess> {
  const server = await startServer(resource, guard)
  await server.whileAlive(warmUp(server.url))
  return server
}

/** Sends the whole demand to the server, showing the progress. */
async function phase(title: string, server: ServerProcess, demand: Demand): Promise<Tally> {
  const tally = new Tally(demand.clients)
  const done = showProgress(title, tally, demand.seconds, process.stdout)
  await server.whileAlive(runLoad(server.url, demand.arrivals, tally)).finally(done)
  if (tally.byClient.every(({ served }) => served === 0)) throw new Error(`${title.trim()}: nothing was served`)
  return tally
}

/** Prints ways to try the server, and waits for Ctrl-C. */
async function letPlay({ url, whileAlive }: ServerProcess): Promise<void> {
  console.log(`
The server with Fairlead is still up. From another terminal:

  be a quiet client:      curl -i -H 'x-client: me' ${url}
  be a heavy one:         curl -s --no-progress-meter -Z --parallel-max 150 -H 'x-client: hog' \\
                            -o /dev/null -w '%{http_code}\\n' '${url}?[1-20000]' | sort | uniq -c
  see what the gate sees: curl -s ${url}status
  and live, as a page:    ${url}fairlead

Try the first while the second runs. Ctrl-C here stops everything.`)
  await whileAlive(once(process, 'SIGINT'))
}
