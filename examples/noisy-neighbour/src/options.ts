import { parseArgs } from 'node:util'

/** The program's options. */
export interface Options {
  /** Stops after the report instead of leaving the server running for experiments. */
  readonly once: boolean
  /** No phases and no report: repeats the same load, for watching on the console. */
  readonly watch: boolean
  /** Length of each of the two phases, in seconds. */
  readonly seconds: number
  /** Seed of the arrivals: the same seed gives the same requests, at the same times, in both phases. */
  readonly seed: number
  /** The handler's resource: a pool of database connections that answers 503, or the processor, which never does. */
  readonly resource: 'pool' | 'cpu'
  /** Total demand of the clients, as a multiple of the resource's capacity. */
  readonly load: number
  /** Folder of plot and figures. */
  readonly out: string
}

export const USAGE = `usage: pnpm demo [flags]
  --once             stop after the report (otherwise the server stays up to play with)
  --watch            the load with Fairlead only, until Ctrl-C, to watch on its console
  --seconds <n>      length of each phase, 1 to 600               (default 20)
  --seed <n>         seed of the arrivals                         (default 1)
  --resource <name>  pool (answers 503) or cpu (never does)       (default pool)
  --load <n>         demand over capacity; below 1: no shortage   (default 1.6)
  --out <folder>     where plot and figures are written           (default out)
  --help             this text`

/** Reads the command line; `undefined` if it asks for help. Throws an `Error` that names the bad flag and its value. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      once: { type: 'boolean', default: false },
      watch: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '20' },
      seed: { type: 'string', default: '1' },
      resource: { type: 'string', default: 'pool' },
      load: { type: 'string', default: '1.6' },
      out: { type: 'string', default: 'out' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { once, watch, resource, out } = values
  if (resource !== 'pool' && resource !== 'cpu') throw new Error(`--resource must be pool or cpu, got '${resource}'`)
  return {
    once,
    watch,
    seconds: number('--seconds', values.seconds, 1, 600),
    seed: number('--seed', values.seed, 0, Number.MAX_SAFE_INTEGER),
    resource,
    load: number('--load', values.load, 0.05, 5),
    out,
  }
}

function number(flag: string, text: string, least: number, most: number): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (!(value >= least && value <= most))
    throw new Error(`${flag} must be a number from ${least} to ${most}, got '${text}'`)
  return value
}
