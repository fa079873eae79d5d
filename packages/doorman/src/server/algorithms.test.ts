import type { AlgorithmKind } from '@fairlead/core/doorman'
import { describe, expect, it } from 'vitest'
import { Bucket } from './child-ledger.js'
import published from './fixtures/published-algorithms.json' with { type: 'json' }
import type { ResourceTemplate } from './repository.js'
import { Census, Corrections } from './resource-world.js'
import { ServerResource } from './server-resource.js'

type Step =
  | ['request', string, number, number, number, number, number, number, number]
  | ['release', string]
  | ['capacity', number]

interface Scenario {
  name: string
  algorithm: string
  capacity: number
  preload: [string, number, number, number][]
  steps: Step[]
}

/** The vectors were recorded from a store in which nothing expires, and a decrease frees capacity at once. */
const NOW = 1_000
const PARAMETERS = [
  { name: 'compatible', value: 'published' },
  { name: 'confirm', value: 'false' },
]

function templateOf({ algorithm }: Scenario, capacity: number): ResourceTemplate {
  const kind = (algorithm === 'LEARN' ? 'FAIR_SHARE' : algorithm) as AlgorithmKind
  const parameters = PARAMETERS
  return { identifierGlob: '*', capacity, algorithm: { kind, leaseLength: 300, refreshInterval: 5, parameters } }
}

/** A store with the contents of the published one before the steps. */
function resourceOf(scenario: Scenario): ServerResource {
  const learnFrom = scenario.algorithm === 'LEARN' ? NOW : Number.NEGATIVE_INFINITY
  const resource = new ServerResource('r', templateOf(scenario, scenario.capacity), learnFrom, {
    isRoot: true,
    minimumSeconds: 0,
    census: new Census(),
    turn: { wakes: Number.POSITIVE_INFINITY },
    corrections: new Corrections(),
  })
  for (const [client, has, wants, subclients] of scenario.preload) {
    const child = resource.ledger.addServer(client)
    resource.ledger.enter(child, [bucket(subclients, wants)], NOW)
    resource.ledger.hold(child, has)
    resource.ledger.lease(child, has)
    child.expiry = NOW + 300
    child.heldUntil = NOW + 301
    child.refreshSeconds = 5
  }
  return resource
}

function bucket(subclients: number, wants: number): Bucket {
  return new Bucket(0, subclients, subclients, wants)
}

describe('algorithms', () => {
  const scenarios = (published.scenarios as Scenario[]).filter(({ name }) => !name.includes('negative wants'))

  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s, as published', (_, scenario) => {
    const resource = resourceOf(scenario)
    let capacity = scenario.capacity
    let cut = false
    for (const step of scenario.steps) {
      if (step[0] === 'release')
        resource.ledger.remove(resource.ledger.findServer(step[1]) ?? resource.ledger.addServer(step[1]))
      else if (step[0] === 'capacity') {
        // From here on the published server grants negative amounts.
        cut ||= step[1] < capacity && scenario.algorithm.endsWith('SHARE')
        capacity = step[1]
        resource.configure(templateOf(scenario, capacity))
      } else {
        const [, client, has, wants, numClients, granted, sumHas, sumWants, count] = step
        const lease = { capacity: has, expiryTime: NOW + 300, refreshInterval: 5 }
        const request = { resourceId: 'r', has: lease, wants: [{ priority: 0, numClients, wants }] }
        const ours = resource.decideServer(client, request, NOW)!.gets.capacity
        const close = 1e-9 * Math.max(1, capacity)
        expect(ours).toBeGreaterThanOrEqual(0)
        if (!cut) {
          expect(Math.abs(ours - granted), `${JSON.stringify(step)}: ${ours}`).toBeLessThanOrEqual(close)
          expect(Math.abs(resource.ledger.held - sumHas)).toBeLessThanOrEqual(close)
        }
        expect(Math.abs(resource.ledger.bands.wants - sumWants)).toBeLessThanOrEqual(close)
        expect(resource.ledger.bands.subclients).toBe(count)
      }
    }
  })
})
