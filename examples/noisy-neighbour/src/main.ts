/** The demonstration: the same load on the same server, first without Fairlead, then with it. See README.md. */
import { parseOptions, USAGE } from './options.js'
import { run, watch } from './run.js'

try {
  const options = parseOptions(process.argv.slice(2))
  if (options) await (options.watch ? watch(options) : run(options))
  else console.log(USAGE)
} catch (error) {
  console.error(`\n${error instanceof Error ? error.message : error}`)
  // Exits at once: a server may still run, and ends with this process.
  process.exit(1)
}
