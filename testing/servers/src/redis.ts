import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.js'
import { programOf, until } from './program.js'

export interface RedisServerOptions {
  /** @default a free one */
  port?: number
  /** Starts a cluster of one node that owns all slots. @default false */
  cluster?: boolean
}

/** A real, private Redis on 127.0.0.1, which keeps nothing on disk. */
export interface RedisServer {
  readonly url: string
  readonly port: number
  /** Kills it, like a crash. To continue, start another one on the same port. */
  stop(): Promise<void>
  /** Suspends it: connections stay open without answers, until it is resumed. */
  hang(): void
  resume(): void
}

/** Starts a Redis, and waits until it answers. Ends with this process at the latest. */
export async function startRedis({ port, cluster = false }: RedisServerOptions = {}): Promise<RedisServer> {
  const binary = await programOf('redis-server', 'redis-server', 'or set REDIS_URL')
  for (let attempt = 1; ; attempt++) {
    const chosen = port ?? (await freePort())
    try {
      return await launch(binary, chosen, cluster)
    } catch (error) {
      // Another process may have taken the port in between; only a requested port must be used.
      if (port !== undefined || attempt === 3) throw error
    }
  }
}

/**
 * The Redis at `REDIS_URL`, if that is set, else a private one, for tests that work with any. `stop` does nothing to an
 * existing one.
 */
export async function withRedisUrl(): Promise<Pick<RedisServer, 'url' | 'stop'>> {
  const url = process.env['REDIS_URL']
  return url ? { url, stop: async () => {} } : startRedis()
}

async function launch(binary: string, port: number, cluster: boolean): Promise<RedisServer> {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-redis-'))
  const options = { port, bind: '127.0.0.1', save: '', appendonly: 'no', dir }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`])
  // A cluster node requires a file; its folder is removed with the server.
  if (cluster) args.push('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1')
  const child = spawn(binary, args, { stdio: 'ignore' })
  const kill = (): void => {
    child.kill('SIGKILL')
  }
  process.once('exit', kill)
  const exited = once(child, 'exit')
  const stop = async (): Promise<void> => {
    process.off('exit', kill)
    kill()
    await exited
    await rm(dir, { recursive: true, force: true })
  }
  try {
    await answering(child, port)
    if (cluster) await ask(port, 'CLUSTER ADDSLOTSRANGE 0 16383', '+OK')
    if (cluster) await until(child, 'redis-server', () => ask(port, 'CLUSTER INFO', 'cluster_state:ok'))
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    stop,
    hang: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  }
}

/** Waits until it answers itself, and not another server that took its port first. */
function answering(child: ChildProcess, port: number): Promise<void> {
  return until(child, 'redis-server', () => ask(port, 'INFO server', `process_id:${child.pid}\r`))
}

/** Sends an inline command on a connection of its own; rejects unless the reply contains `expected`. */
async function ask(port: number, command: string, expected: string): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    socket.write(`${command}\r\n`)
    const [reply] = await once(socket, 'data')
    if (!String(reply).includes(expected)) throw new Error(`${command}: ${reply}`)
  } finally {
    socket.destroy()
  }
}
