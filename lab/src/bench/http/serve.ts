/** The process of one server: started with a framework's file and a mode, it tells its port, and its CPU when asked. */
import type { Framework } from './framework.js'

/** CPU time used so far, user and system, in microseconds. */
export interface Usage {
  cpuUs: number
}

const [name, mode] = process.argv.slice(2)
const { framework } = (await import(`./${name}.js`)) as { framework: Framework }
const port = await framework.serve(mode!)
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuUs: user + system } satisfies Usage)
})
process.on('disconnect', () => process.exit())
process.send?.({ port })
