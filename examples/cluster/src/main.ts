// Sends the same load to four workers with separate clocks, and to four that share one.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { figures, population, send } from './load.js'

const SETTLES = 10
const seconds = Number(process.argv[2] ?? 30)
const server = fileURLToPath(new URL('server.js', import.meta.url))

for (const shared of ['no', 'yes']) {
  const child = spawn(process.execPath, [server], { env: { ...process.env, PORT: '0', SHARED: shared }, stdio: 'pipe' })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const url = `http://127.0.0.1:${/port: (\d+)/.exec(line)?.[1]}/`
  const clocks = shared === 'yes' ? 'one clock' : 'four clocks'
  console.log(
    `four workers, ${clocks}: ${SETTLES} s to detect the shortage, which are not counted, and ${seconds} s of load`,
  )
  await send(() => url, population(), SETTLES)
  const clients = population()
  const began = performance.now()
  await send(() => url, clients, seconds)
  const took = (performance.now() - began) / 1000
  const sharing = await (await fetch(`${url}sharing`)).json()
  child.kill()
  await once(child, 'exit')
  console.log(`${clocks}:`, figures(clients, took), sharing)
}
