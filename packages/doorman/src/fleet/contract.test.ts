import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { fleetContract } from '@fairlead/testing'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { fairShare } from '../fixtures/repository.js'
import { type Doorman, startDoorman } from '../start-doorman.js'

const MEMBER = fileURLToPath(new URL('../fixtures/fleet-member.mjs', import.meta.url))
const TOKEN = 'one that nobody guesses'.replaceAll(' ', '-')

let doorman: Doorman
const start = async (httpPort: number): Promise<void> => {
  // The members may ask for their clock only.
  const access = [{ name: 'members', token: TOKEN, resources: ['orders'] }]
  doorman = await startDoorman({ config: fairShare(), fresh: true, hostname: '127.0.0.1', httpPort, access })
}
const portOf = ({ httpUrl }: Doorman): number => Number(new URL(httpUrl!).port)
beforeAll(() => start(0))
afterAll(() => doorman.close())

let port = 0
describe('processes that share a clock by way of a Doorman server', () => {
  const contract = fleetContract({
    start: (load) => fork(MEMBER, [doorman.httpUrl!, TOKEN, JSON.stringify(load)], { execArgv: [] }),
    async cut() {
      port = portOf(doorman)
      await doorman.close()
    },
    mend: () => start(port),
    async forget() {
      port = portOf(doorman)
      await doorman.close()
      await start(port)
    },
  })
  for (const { name, run, timeoutMs } of contract) it(name, run, timeoutMs)
})
