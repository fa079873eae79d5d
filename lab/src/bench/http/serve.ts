/**
 * The process of one server: started with a framework's file and a mode, it serves the bare route and the route behind
 * that mode, reports both ports, and its CPU time on request.
 */
import type { Framework } from './framework.js'

/** CPU time used so far, user and system, in microseconds. */
export interface Usage {
  cpuUs: number
}

/** The ports of the routes. */
export interface Ports {
  barePort: number
  port: number
}

const [name, mode] = process.argv.slice(2)
const { framework } = (await import(`./${name}.js`)) as { framework: Framework }
const barePort = await framework.serve(framework.modes[0]!)
const port = await framework.serve(mode!)
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuUs: user + system } satisfies Usage)
})
process.on('disconnect', () => process.exit())
process.send?.({ barePort, port } satisfies Ports)
