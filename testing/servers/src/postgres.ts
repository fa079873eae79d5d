import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.js'
import { programOf, until } from './program.js'

/** A real, private Postgres on 127.0.0.1, without authentication. */
export interface PostgresServer {
  readonly url: string
  readonly port: number
  /** Kills it for good, like a crash. */
  stop(): Promise<void>
}

const run = promisify(execFile)

/** Starts a Postgres, and waits until it answers. Ends with this process at the latest. */
export async function startPostgres(): Promise<PostgresServer> {
  const binary = await programOf('postgres', 'postgresql', 'to have a Postgres for tests')
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-postgres-'))
  const owner = await ownerOf()
  if (owner !== undefined) await chown(dir, owner.uid, owner.gid)
  const data = join(dir, 'data')
  await run(join(dirname(binary), 'initdb'), ['-D', data, '-A', 'trust', '-U', 'postgres', '-N', '-E', 'UTF8'], owner)
  const port = await freePort()
  const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: dir, fsync: 'off' }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(binary, ['-D', data, ...args], { ...owner, stdio: 'ignore' })
  const kill = (): void => {
    child.kill('SIGQUIT')
  }
  process.once('exit', kill)
  const exited = once(child, 'exit')
  const stop = async (): Promise<void> => {
    process.off('exit', kill)
    kill()
    await exited
    await rm(dir, { recursive: true, force: true })
  }
  const attempt = [join(dirname(binary), 'pg_isready'), ['-h', '127.0.0.1', '-p', `${port}`]] as const
  try {
    await until(child, 'postgres', async () => {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.destroy()
      await run(...attempt)
    })
  } catch (error) {
    await stop()
    throw error
  }
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, port, stop }
}

/** Postgres does not run as root. */
async function ownerOf(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'postgres'])).stdout)),
  )
  return { uid: uid!, gid: gid! }
}
