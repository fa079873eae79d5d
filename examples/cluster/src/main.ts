// Sends the same load to four workers with separate clocks, and to four that share one.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { figures, population, send } from './load.js'

const seconds = Number(process.argv[2] ?? 30)
const server = fileURLToPath(new URL('server.js', import.meta.url))

for (const shared of ['no', 'yes']) {
  const child = spawn(process.execPath, [server], { env: { ...process.env, PORT: '0', SHARED: shared }, stdio: 'pipe' })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const url = `http://127.0.0.1:${/port: (\d+)/.exec(line)?.[1]}/`
  // The first seconds, in which the gates detect the shortage, are not counted.
  await send(() => url, population(), 10)
  const clients = population()
  await send(() => url, clients, seconds)
  const sharing = await (await fetch(`${url}sharing`)).json()
  child.kill()
  await once(child, 'exit')
  console.log(shared === 'yes' ? 'one clock:' : 'four clocks:', figures(clients, seconds), sharing)
}
