import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt, until } from '@fairlead-testing/waiting'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { CutProxy } from '../fixtures/cut-proxy.js'
import { command, DoormanProcess } from '../fixtures/doorman-process.js'
import { type EtcdLocks, startEtcd, type TestEtcd } from '../fixtures/etcd.js'

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))
const LOCKS: EtcdLocks = {
  certFile: fixture('cert.pem'),
  keyFile: fixture('key.pem'),
  clientCertFile: fixture('client-cert.pem'),
  clientKeyFile: fixture('client-key.pem'),
  password: 'only doorman knows',
}

let etcd: TestEtcd | undefined
let folder: string
let servers: DoormanProcess[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'doorman-etcd-secrets-'))
  await writeFile(join(folder, 'password'), `${LOCKS.password}\n`)
  await writeFile(join(folder, 'wrong-password'), 'a guess\n')
  etcd = await startEtcd(LOCKS)
  await etcd!.client.put('doorman/config').value(configOf(100))
})
afterAll(async () => {
  await etcd?.stop()
  await rm(folder, { recursive: true, force: true })
})
afterEach(async () => {
  await Promise.all(servers.map(({ child }) => child.stop()))
  servers = []
})

/** Each client gets exactly the capacity. */
function configOf(capacity: number): string {
  return `resources:
  - identifier_glob: "*"
    capacity: ${capacity}
    algorithm: { kind: STATIC, lease_length: 20, refresh_interval: 1 }
`
}

function flags({ ca = true, certificate = true, password = 'password', url = etcd!.url } = {}): string[] {
  return [
    ...['--etcd-endpoints', url, '--config', 'etcd:doorman/config'],
    ...['--master-election-lock', 'doorman/lock', '--master-delay', '3s'],
    ...(ca ? ['--etcd-ca-file', LOCKS.certFile] : []),
    ...(certificate ? ['--etcd-cert-file', LOCKS.clientCertFile, '--etcd-key-file', LOCKS.clientKeyFile] : []),
    ...['--etcd-user', 'root', '--etcd-password-file', join(folder, password)],
  ]
}

/** The grant to a client without a lease if this server is the master; else undefined. */
async function granted({ httpUrl }: DoormanProcess): Promise<number | undefined> {
  const resource = [{ resourceId: 'db', priority: 0, wants: 1_000 }]
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ clientId: `c${Math.random()}`, resource })
  const answer = await fetch(`${httpUrl}/doorman.Capacity/GetCapacity`, { method: 'POST', headers, body })
  const { response } = (await answer.json()) as { response?: { gets: { capacity: number } }[] }
  return response?.[0]?.gets.capacity
}

/** Waits for the only server that grants. Rejects if one has ended. */
function onlyMaster(): Promise<DoormanProcess> {
  return until('one is the master', async () => {
    const answers = await Promise.all(servers.map((server) => attempt(granted(server))))
    const ended = servers.find(({ child }) => child.ended)
    if (ended !== undefined) throw new Error(ended.child.output)
    const masters = servers.filter((_, i) => typeof answers[i] === 'number')
    return masters.length === 1 ? masters[0] : answers.find((answer) => answer instanceof Error)
  })
}

describe('an etcd that wants a certificate and a password', () => {
  it('elects a master, gives it the configuration and tells it of changes', async () => {
    servers = await Promise.all([DoormanProcess.start(...flags()), DoormanProcess.start(...flags())])
    const master = await onlyMaster()
    expect(await granted(master!)).toBe(100)
    await etcd!.client.put('doorman/config').value(configOf(40))
    await until('the change has come', async () => (await granted(master!)) === 40)
  })

  it.runIf(process.env['FAIRLEAD_WIDE'] !== undefined)(
    'elects a master also where a connection takes longer than a check of the lock',
    async () => {
      const network = await CutProxy.to(etcd!.port, 200)
      try {
        servers = [await DoormanProcess.start(...flags({ url: etcd!.url.replace(`${etcd!.port}`, `${network.port}`) }))]
        await onlyMaster()
      } finally {
        network.close()
      }
    },
  )

  const few = [['the password is wrong', { password: 'wrong-password' }]] as const
  const more = [
    ['the authority of its certificate is not known', { ca: false }],
    ['there is no certificate to show', { certificate: false }],
  ] as const

  it.each(process.env['FAIRLEAD_WIDE'] === undefined ? few : [...few, ...more])(
    'is not used where %s: the command ends with an error',
    async (_, without) => {
      const child = command('serve', ...flags(without))
      try {
        await until('it has ended', () => (child.ended ? true : undefined))
        expect(child.output).toMatch(/etcd|certificate|password|authentication|UNAVAILABLE|connect/i)
      } finally {
        await child.stop()
      }
    },
  )
})
