import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { fleetContract } from '@fairlead/testing'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { fairShare } from '../fixtures/repository.js'
import { type Doorman, startDoorman } from '../start-doorman.js'

const MEMBER = fileURLToPath(new URL('../fixtures/fleet-member.mjs', import.meta.url))
const TOKEN = 'one that nobody guesses'.replaceAll(' ', '-')

interface Ports {
  port: number
  httpPort: number
}

async function start(ports: Ports): Promise<Doorman> {
  // The members may ask for their clocks only.
  const access = [{ name: 'members', token: TOKEN, resources: ['orders-*'] }]
  return startDoorman({ config: fairShare(), fresh: true, hostname: '127.0.0.1', ...ports, access })
}

const portsOf = ({ address, httpUrl }: Doorman): Ports => ({
  port: Number(new URL(`http://${address}`).port),
  httpPort: Number(new URL(httpUrl!).port),
})

describe.each([
  ['HTTP', ({ httpUrl }: Doorman) => httpUrl!],
  ['gRPC', ({ address }: Doorman) => address],
] as const)('processes that share a clock by way of a Doorman server over %s', (_, where) => {
  let doorman: Doorman
  let ports: Ports
  beforeAll(async () => {
    doorman = await start({ port: 0, httpPort: 0 })
    ports = portsOf(doorman)
  })
  afterAll(() => doorman.close())
  const contract = fleetContract({
    start: (load) => fork(MEMBER, [where(doorman), TOKEN, JSON.stringify(load)], { execArgv: [] }),
    cut: () => doorman.close(),
    async mend() {
      doorman = await start(ports)
    },
    async forget() {
      await doorman.close()
      doorman = await start(ports)
    },
  })
  for (const { name, run, timeoutMs } of contract) it(name, run, timeoutMs)
})
