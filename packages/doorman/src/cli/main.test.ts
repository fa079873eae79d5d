import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ConfigFile, command, DoormanProcess, fairShareYaml } from '../fixtures/doorman-process.js'
import type { TestProcess } from '../fixtures/test-process.js'
import { textOf } from '../fixtures/text-of.js'

/** Each row starts a process or several. */
const IS_WIDE = process.env['FAIRLEAD_WIDE'] !== undefined

const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

function run(...args: string[]): TestProcess {
  const child = command(...args)
  ends.push(() => child.stop())
  return child
}

async function configFile(text: string): Promise<ConfigFile> {
  const file = await ConfigFile.with(text)
  ends.push(() => file.remove())
  return file
}

async function serve(capacity = 100): Promise<DoormanProcess> {
  const { path } = await configFile(fairShareYaml(capacity, 60, 5))
  const server = await DoormanProcess.start('--fresh', '--config', path)
  ends.push(() => server.child.stop())
  return server
}

/** A server with a capacity of 100 of every resource, of which each test has its own. */
let shared: DoormanProcess
let endShared = async (): Promise<void> => {}
beforeAll(async () => {
  shared = await serve()
  const own = ends.splice(0).toReversed()
  endShared = async () => {
    for (const end of own) await end()
  }
})
afterAll(() => endShared())

describe('doorman shell', () => {
  it('plays many clients', async () => {
    const { address } = shared
    const shell = run('shell', '--server', address)
    shell.write('master\nget a db 30\n')
    await shell.said(new RegExp(`${address}, the one that was asked`))
    await shell.said(/^a db: 33$/m)
    shell.write('get b db 500\n')
    await shell.said(/^b db: 67$/m)
    shell.write('show\n')
    await shell.said(/^a db: 33 of 30 wanted, by lease, \d+ s left$/m)
    shell.write('release b db\nrelease b db\nwhat?\nquit\n')
    expect(await shell.end()).toBe(0)
    expect(shell.output).toMatch(/b db: released\nb has no db/)
  })

  it('answers commands that come all at once, one by one', async () => {
    const shell = run('shell', '--server', shared.address)
    shell.write('get a once 30\nget b once 500\nquit\n')
    expect(await shell.end()).toBe(0)
    expect(shell.output).toMatch(/^a once: 33\nb once: 67$/m)
  })
})

describe('doorman client', () => {
  it('prints its first capacity, and gives it back', async () => {
    const { address, debugUrl } = shared
    const client = run('client', '--server', address, '--resource', 'lent', '--wants', '40', '--duration', '0')
    expect(await client.end()).toBe(0)
    expect(client.output).toMatch(/^lent: 4\d of 40 wanted$/m)
    expect(await textOf(`${debugUrl}/metrics`)).toContain('doorman_server_has{resource="lent"} 0')
  })

  it('loads a resource over HTTP as much as it may', async () => {
    const startMs = performance.now()
    const about = ['--resource', 'spent', '--wants', '40', '--duration', '1500ms']
    const client = run('client', '--server', shared.httpUrl, ...about)
    expect(await client.end()).toBe(0)
    const lastedSeconds = (performance.now() - startMs) / 1_000
    let [taken, seconds] = [0, 0]
    for (const [, more, longer] of client.output.matchAll(/^(\d+) taken in ([\d.]+) s, capacity \d+$/gm)) {
      taken += Number(more)
      seconds += Number(longer)
      // One second's budget is available at once, and another with each second. Times are rounded. The printed capacity
      // is that of the moment and may have been higher between two lines: only the server's own capacity is a certain
      // bound.
      expect(taken).toBeLessThanOrEqual((1.01 + seconds) * 100)
    }
    expect(taken).toBeGreaterThan(0)
    // The lines cover exactly the whole time, including the rest after the last full second.
    expect(seconds).toBeGreaterThan(1.48)
    expect(seconds).toBeLessThan(lastedSeconds)
  })

  it('ends in time however much it may take', async () => {
    const { address } = await serve(1e9)
    const client = run(
      'client',
      '--server',
      address,
      '--resource',
      'db',
      '--wants',
      '1000000000',
      '--duration',
      '100ms',
    )
    expect(await client.end()).toBe(0)
    expect(client.output).toMatch(/^\d+ taken in /m)
  })

  it('says so when the server has no such resource', async () => {
    const client = run('client', '--server', shared.address, '--resource', 'db/queries')
    expect(await client.end()).toBe(1)
    expect(client.output).toContain('the server knows no resource "db/queries"')
  })

  it('says what is wrong when nobody answers', async () => {
    const client = run('client', '--server', '127.0.0.1:1', '--resource', 'db')
    expect(await client.end()).toBe(1)
    expect(client.output).toContain('ECONNREFUSED')
  })
})

describe('certificates of both sides', () => {
  const pem = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}.pem`, import.meta.url))
  const own = ['--ca-file', pem('cert'), '--cert-file', pem('client-cert'), '--key-file', pem('client-key')]
  const tls = ['--tls', '--cert-file', pem('cert'), '--key-file', pem('key'), '--client-ca-file', pem('client-cert')]

  it.each(IS_WIDE ? ['gRPC', 'https'] : ['gRPC'])(
    'are shown by every command over %s, to a parent as well',
    async (over) => {
      const { path } = await configFile(fairShareYaml(100, 60, 5))
      const start = async (...args: string[]): Promise<DoormanProcess> => {
        const server = await DoormanProcess.start('--config', path, ...tls, ...args)
        ends.push(() => server.child.stop())
        return server
      }
      const whereIs = (server: DoormanProcess): string => (over === 'gRPC' ? server.address : server.httpUrl)
      const root = await start('--fresh')
      const stranger = run('client', '--server', whereIs(root), '--resource', 'db', '--ca-file', pem('cert'))
      expect(await stranger.end()).toBe(1)
      const child = await start('--parent', whereIs(root), ...own.map((each) => each.replace(/^--/, '--parent-')))
      const shell = run('shell', '--server', whereIs(child), ...own)
      shell.write('get a db 30\n')
      // The root's resource, through the child.
      await shell.said(/^a db: [1-9]/m)
      const client = run('client', '--server', whereIs(root), ...own, '--resource', 'other', '--duration', '0')
      expect(await client.end()).toBe(0)
    },
  )
})

describe('doorman --check', () => {
  it('says whether a configuration is right', async () => {
    const right = run('--check', (await configFile(fairShareYaml(100, 60, 5))).path)
    expect(await right.end()).toBe(0)
    expect(right.output).toMatch(/^\*: 100, FAIR_SHARE, leases of 60 s, refreshed each 5 s\n.* is right$/m)
    const wrong = run('--check', (await configFile(fairShareYaml(100, 5, 60))).path)
    expect(await wrong.end()).toBe(1)
    expect(wrong.output).toContain('leaseLength of "*" must be an integer >= 60, got 5')
  })
})

describe('doorman', () => {
  const few: [args: string[], code: number, message: string][] = [
    [['serve', '--config', 'x', '--port', 'many'], 2, '--port must be a port, got "many"'],
    [['serve', '--config', '/nowhere'], 1, 'ENOENT'],
  ]
  const more: typeof few = [
    [['dance'], 2, 'there is no command "dance"'],
    [['serve'], 2, '--config must be given'],
    [['serve', '--config', 'x', '--prot', '1'], 2, '--prot'],
    [['serve', '--config', 'x', '--tls'], 2, '--tls needs --cert-file and --key-file'],
    [['serve', '--config', '/nowhere', '--master-delay', '10'], 1, '--master-delay must be a duration like 10s'],
    [['shell'], 2, '--server must be given'],
    [['client', '--server', 'a:1'], 2, '--resource must be given'],
  ]

  it.each(IS_WIDE ? [...few, ...more] : few)('says how it was called wrong: %j', async (args, code, message) => {
    const child = run(...args)
    expect(await child.end()).toBe(code)
    expect(child.output).toContain(message)
  })

  it('has help', async () => {
    const help = run('--help')
    expect(await help.end()).toBe(0)
    for (const word of ['serve', 'shell', 'client', '--debug-port PORT', 'DOORMAN_DEBUG_PORT'])
      expect(help.output).toContain(word)
  })

  it('stops gracefully at SIGTERM as soon as it serves', async () => {
    const server = await serve()
    server.child.kill('SIGTERM')
    expect(await server.child.end()).toBe(0)
    expect(server.child.output).toContain('stopping')
  })

  it('goes on at SIGHUP, with the configuration as it is now', async () => {
    const file = await configFile(fairShareYaml(100, 60, 5))
    const server = await DoormanProcess.start('--config', file.path)
    ends.push(() => server.child.stop())
    await file.write(fairShareYaml(200, 60, 5))
    server.child.kill('SIGHUP')
    await server.child.said(/a new configuration is in force/)
  })
})
