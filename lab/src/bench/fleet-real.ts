// The example's load over HTTP: four workers of node:cluster with one clock and with four, then four processes with a
// Redis, of which one is killed after 45 seconds and Redis after 65, for 20 seconds. Build the examples first.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startRedis } from '@fairlead-testing/servers'

const SECONDS = process.argv[2] ?? '40'
const KILL_AT = 45
const STOP_AT = 65
const STOPPED = 20
const FLEET_SECONDS = 100

await run('main', [SECONDS], {})
const first = await startRedis()
await run('fleet', [String(FLEET_SECONDS)], { REDIS_URL: first.url }, (line) => {
  const [, pid] = /^processes (\d+)/.exec(line) ?? []
  if (pid === undefined) return
  at(KILL_AT, `process ${pid} is killed`, () => process.kill(Number(pid), 'SIGKILL'))
  at(STOP_AT, 'Redis ends', () => first.stop())
  at(STOP_AT + STOPPED, 'Redis starts again', () => startRedis({ port: first.port }))
})
process.exit()

function at(second: number, what: string, happen: () => unknown): void {
  setTimeout(() => {
    console.log(`(${second} s: ${what})`)
    happen()
  }, 1_000 * second)
}

async function run(
  name: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  hear: (line: string) => void = () => {},
): Promise<void> {
  const program = fileURLToPath(new URL(`../../../examples/cluster/dist/${name}.js`, import.meta.url))
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  createInterface({ input: child.stdout }).on('line', (line) => {
    console.log(line)
    hear(line)
  })
  await once(child, 'exit')
}
