import type { DiscoveryResponse, GetCapacityResponse } from '@fairlead/core/doorman'
import { until } from '@fairlead-testing/waiting'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CutProxy } from '../fixtures/cut-proxy.js'
import { ConfigFile, DoormanProcess, fairShareYaml } from '../fixtures/doorman-process.js'
import { startEtcd, type TestEtcd } from '../fixtures/etcd.js'
import { textOf } from '../fixtures/text-of.js'

/** A server, and its network path to etcd. */
interface Member {
  server: DoormanProcess
  network: CutProxy
}

let etcd: TestEtcd
let config: ConfigFile
let members: Member[] = []
let lock = 0

beforeAll(async () => {
  etcd = await startEtcd()
  config = await ConfigFile.with(fairShareYaml(100, 20, 1))
})

afterAll(async () => {
  await etcd.stop()
  await config.remove()
})

beforeEach(async () => {
  lock++
  members = []
})

afterEach(async () => {
  await Promise.all(members.map(({ server }) => server.child.stop()))
  for (const { network } of members) network.close()
})

/** `delay`: time for which the lock outlives a silent master. */
function startThree(delay = '3s'): Promise<unknown> {
  return Promise.all([start(delay), start(delay), start(delay)])
}

async function start(delay: string): Promise<void> {
  const network = await CutProxy.to(etcd.port)
  const where = ['--etcd-endpoints', `http://127.0.0.1:${network.port}`, '--config', config.path]
  const election = ['--master-election-lock', `lock-${lock}`, '--master-delay', delay]
  members.push({ network, server: await DoormanProcess.start(...where, ...election) })
}

async function call<T>({ server }: Member, method: string, request: unknown): Promise<T> {
  // A connection of its own: the server may close a kept one just when it is used.
  const headers = { 'content-type': 'application/json', connection: 'close' }
  const url = `${server.httpUrl}/doorman.Capacity/${method}`
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(request) })
  expect(response.status).toBe(200)
  return (await response.json()) as T
}

function discovery(member: Member): Promise<DiscoveryResponse> {
  return call(member, 'Discovery', {})
}

let clients = 0

/** The answer to a client that is unknown to the server. */
function ask(member: Member): Promise<Partial<GetCapacityResponse>> {
  const clientId = `client-${++clients}`
  return call(member, 'GetCapacity', { clientId, resource: [{ resourceId: 'db', priority: 0, wants: 1 }] })
}

/** The server that claims to be the master. Fails if two do so at once. */
async function masterAmong(some: readonly Member[]): Promise<Member | undefined> {
  const found = await mastersAmong(some)
  if (found.length < 2) return found[0]
  // The answers are from different moments. A server that was followed by another in between does not claim it again.
  const still = await mastersAmong(found)
  const names = still.map(({ server }) => server.httpUrl)
  expect(still.length, `masters at once, [${names.join(', ')}]`).toBeLessThanOrEqual(1)
  return still[0]
}

async function mastersAmong(some: readonly Member[]): Promise<Member[]> {
  const answers = await Promise.all(some.map(discovery))
  return some.filter((_, i) => answers[i]!.isMaster)
}

/** Three servers, and the first master, once all of them know it. */
async function firstMaster(delay?: string): Promise<{ master: Member; others: Member[] }> {
  await startThree(delay)
  const master = await agreed(members)
  return { master, others: members.filter((each) => each !== master) }
}

/** The master among `some`, once all of them know it: on a stalled machine it may change before they do. */
function agreed(some: readonly Member[]): Promise<Member> {
  return until('a master that everybody knows', async () => {
    const found = await masterAmong(some)
    const isKnown =
      found !== undefined &&
      (await knownBy(
        some.filter((each) => each !== found),
        found,
      ))
    return isKnown && found
  })
}

async function knownBy(some: readonly Member[], { server }: Member): Promise<boolean> {
  const answers = await Promise.all(some.map(discovery))
  return answers.every(({ mastership }) => mastership.masterAddress === server.httpUrl)
}

describe('three servers and one lock', () => {
  it('have one master, and the others send everybody there', async () => {
    // A long delay, so that a slow server does not lose the mastership.
    const { master, others } = await firstMaster('1h')
    expect((await ask(master)).response?.[0]).toMatchObject({ gets: { capacity: expect.any(Number) } })
    for (const other of others)
      expect(await ask(other)).toEqual({ response: [], mastership: { masterAddress: master.server.httpUrl } })
    // The lock was never held before, so there is nothing to learn.
    expect(await textOf(`${master.server.debugUrl}/metrics`)).toContain('doorman_server_reserve{resource="db"} 0')
  })

  it('have another master when it is killed, which keeps back what the old one may have granted', async () => {
    const { master, others } = await firstMaster()
    master.server.child.kill('SIGKILL')
    const next = await agreed(others)
    expect((await ask(next)).response?.[0]).toMatchObject({ gets: { capacity: 0 } })
    expect(await textOf(`${next.server.debugUrl}/metrics`)).toContain('doorman_server_reserve{resource="db"} 100')
  })

  it('have another master when it hangs, and what it was asked meanwhile it does not grant when it wakes', async () => {
    const { master, others } = await firstMaster()
    expect((await ask(master)).response).toHaveLength(1)
    master.server.child.kill('SIGSTOP')
    const asked = [ask(master), ask(master)]
    await until('another master', () => masterAmong(others))
    master.server.child.kill('SIGCONT')
    for (const answer of await Promise.all(asked)) expect(answer.response).toEqual([])
    await agreed(members)
  })

  it('have another master when it is cut off from etcd, and the old one has stopped by then', async () => {
    const { master } = await firstMaster()
    master.network.cut()
    await until('another master', async () => {
      const found = await masterAmong(members)
      return found !== master && found
    })
    // Asked after the new one claimed to be the master.
    expect((await ask(master)).response).toEqual([])
    expect((await discovery(master)).mastership).toEqual({})
    master.network.mend()
    await agreed(members)
  })

  it('have another master at once when it is told to stop, and it ends in order', async () => {
    // The lock would not expire in time by itself.
    const { master, others } = await firstMaster('1h')
    master.server.child.kill('SIGTERM')
    await until('another master', () => masterAmong(others))
    expect(await master.server.child.end()).toBe(0)
    expect(master.server.child.output).toContain('"msg":"closed"')
  })

  it('have no master while etcd is away, and have one when it is back', async () => {
    const { master } = await firstMaster()
    for (const { network } of members) network.cut()
    await until('no master', async () => !(await discovery(master)).isMaster)
    expect((await fetch(`${master.server.debugUrl}/readyz`)).status).toBe(503)
    expect((await fetch(`${master.server.debugUrl}/healthz`)).status).toBe(200)
    expect((await ask(master)).response).toEqual([])
    for (const { network } of members) network.mend()
    await agreed(members)
  })

  it('have another master when the lock is taken away', async () => {
    const { master } = await firstMaster()
    await etcd.client.delete().key(`lock-${lock}`).exec()
    await master.server.child.said(/not the master any more/)
    await agreed(members)
  })

  it('keep on record how long leases may last, before longer ones come into force, and under any master', async () => {
    const { master, others } = await firstMaster('1h')
    const kept = async (): Promise<unknown> => JSON.parse((await etcd.client.get(`lock-${lock}.held`).string()) ?? '')
    expect(await kept()).toEqual({ leases: [['*', 20]], former: [] })
    await config.write(fairShareYaml(100, 600, 1))
    try {
      await Promise.all(members.map(({ server }) => server.child.said(/a new configuration is in force/)))
      const both = { leases: [['*', 600]], former: [{ leases: [['*', 20]], until: expect.any(Number) }] }
      expect(await kept()).toEqual(both)
      master.server.child.kill('SIGTERM')
      await until('another master', () => masterAmong(others))
      expect(await kept()).toEqual(both)
    } finally {
      await config.write(fairShareYaml(100, 20, 1))
    }
  })
})
