import cluster from 'node:cluster'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import '@fairlead/core' // in the primary: nothing else is needed
import { describe, it } from 'vitest'
import { type FleetHarness, fleetContract } from './index.js'

const MEMBER = new URL('../fixtures/fleet-member.mjs', import.meta.url)

const HARNESSES: Record<string, FleetHarness> = {
  'workers of node:cluster': {
    start(load) {
      cluster.setupPrimary({ exec: fileURLToPath(MEMBER), args: [JSON.stringify(load)], execArgv: [] })
      return cluster.fork().process
    },
    isSafe: true,
  },
  'worker threads': {
    start: (load) => new Worker(MEMBER, { workerData: load, execArgv: [] }),
    isSafe: true,
  },
}

describe.each(Object.entries(HARNESSES))('%s', (_, harness) => {
  for (const { name, run, timeoutMs } of fleetContract(harness)) it(name, run, timeoutMs)
})
