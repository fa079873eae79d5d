import { seededRandom } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { aggregate } from './aggregate.js'
import { ChildLedger } from './child-ledger.js'
import { Census, Corrections } from './resource-world.js'
import { rulesOf } from './rules.js'

const RULES = rulesOf({
  kind: 'FAIR_SHARE',
  leaseLength: 60,
  refreshInterval: 8,
  parameters: [{ name: 'highest_priority', value: '9' }],
})

function ledgerOf(clients: readonly { wants: number; priority?: number; weight?: number }[]): ChildLedger {
  const ledger = new ChildLedger(RULES, 100, {
    census: new Census(),
    turn: { wakes: Number.POSITIVE_INFINITY },
    corrections: new Corrections(),
  })
  for (const [i, { wants, priority = 0, weight = 1 }] of clients.entries())
    ledger.enterClient(ledger.addClient(`${i}`, undefined), priority, weight, wants, 1_000)
  return ledger
}

describe('aggregate', () => {
  it('puts clients of one priority together whose wants differ by no more than a quarter', () => {
    const clients = [{ wants: 10 }, { wants: 12.5 }, { wants: 12.6 }, { wants: 0 }, { wants: 11, priority: 2 }]
    expect(aggregate(ledgerOf(clients), 0, false)).toEqual([
      { priority: 2, numClients: 1, wants: 11 },
      { priority: 0, numClients: 1, wants: 0 },
      { priority: 0, numClients: 2, wants: 22.5 },
      { priority: 0, numClients: 1, wants: 12.6 },
    ])
  })

  it('is never more than 32 sums, and loses no client', () => {
    const random = seededRandom(1)
    const clients = Array.from({ length: 500 }, () => ({
      wants: 1.5 ** (random() * 60),
      priority: random() < 0.5 ? 0 : 1,
    }))
    const sums = aggregate(ledgerOf(clients), 0, false)
    expect(sums.length).toBeLessThanOrEqual(32)
    expect(sums.length).toBeGreaterThan(8)
    expect(sums.reduce((sum, { numClients }) => sum + numClients, 0)).toBe(500)
    const total = clients.reduce((sum, { wants }) => sum + wants, 0)
    expect(sums.reduce((sum, { wants }) => sum + wants, 0) / total).toBeCloseTo(1, 9)
  })

  it('tells weights where they count', () => {
    const clients = [
      { wants: 10, weight: 2 },
      { wants: 5, weight: 1 },
    ]
    expect(aggregate(ledgerOf(clients), 0, true)).toEqual([{ priority: 0, numClients: 2, wants: 15, weight: 3 }])
  })

  it('counts a reserve as the wants of as many clients as would hold it', () => {
    const ledger = ledgerOf([{ wants: 10 }, { wants: 10 }])
    ledger.hold(ledger.findClient('0', undefined)!, 8)
    ledger.hold(ledger.findClient('1', undefined)!, 4)
    expect(aggregate(ledger, 18, false)[1]).toEqual({ priority: 0, numClients: 3, wants: 18 })
    expect(aggregate(ledgerOf([]), 18, false)).toEqual([{ priority: 0, numClients: 1, wants: 18 }])
  })
})
