import { createGate, FairTracker, type Permit } from '@fairlead/core'
import { escrow } from '@fairlead/core/escrow'
import { ThrottlerStorageService } from '@nestjs/throttler'
import { MemoryStore as ExpressStore } from 'express-rate-limit'
import { MemoryStore as HonoStore } from 'hono-rate-limiter'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { NEVER_REACHED } from '../http/framework.js'

/** Fairlead, a library that it is compared with, or the lower bound of the cost. */
export type Party = 'ours' | 'peer' | 'floor'

/** Decides whether a request of a flow may run. */
export interface Limiter {
  readonly name: string
  readonly by: Party
  /** Makes one that never refuses; the function that it returns answers each call, perhaps by a promise. */
  make(): (flow: string) => unknown
}

const WINDOW_MS = 60_000

/** All limiters per key, in the order of the table; the others are compared with the first of ours. */
export const LIMITERS: readonly Limiter[] = [
  { name: 'Fairlead: gate with FAIR, admit and finish', by: 'ours', make: () => admitAndFinish(createGate()) },
  {
    name: 'Fairlead: `FairTracker` alone, register and report',
    by: 'ours',
    make() {
      const tracker = new FairTracker()
      return (flow) => {
        if (tracker.register(flow)) tracker.report(flow, 'success')
      }
    },
  },
  {
    name: 'Fairlead: gate with a budget by tenant, admit and finish',
    by: 'ours',
    make: () =>
      admitAndFinish(createGate({ fair: false, budget: escrow({ limit: NEVER_REACHED, windowMs: WINDOW_MS }) })),
  },
  {
    name: 'a counter in a `Map`',
    by: 'floor',
    make() {
      const counts = new Map<string, { used: number }>()
      return (flow) => {
        const record = counts.get(flow)
        if (record) record.used++
        else counts.set(flow, { used: 1 })
      }
    },
  },
  {
    name: "express-rate-limit, its memory store's `increment`",
    by: 'peer',
    make() {
      const store = new ExpressStore()
      store.init({ windowMs: WINDOW_MS } as Parameters<ExpressStore['init']>[0])
      return (flow) => store.increment(flow)
    },
  },
  {
    name: "hono-rate-limiter, its memory store's `increment`",
    by: 'peer',
    make() {
      const store = new HonoStore()
      store.init({ windowMs: WINDOW_MS } as Parameters<HonoStore['init']>[0])
      return (flow) => store.increment(flow)
    },
  },
  {
    name: 'rate-limiter-flexible, memory, `consume`',
    by: 'peer',
    make() {
      const limiter = new RateLimiterMemory({ points: NEVER_REACHED, duration: WINDOW_MS / 1_000 })
      return (flow) => limiter.consume(flow)
    },
  },
  {
    name: "@nestjs/throttler, its storage's `increment`",
    by: 'peer',
    make() {
      const storage = new ThrottlerStorageService()
      return (flow) => storage.increment(flow, WINDOW_MS, NEVER_REACHED, WINDOW_MS, 'default')
    },
  },
]

function admitAndFinish(gate: ReturnType<typeof createGate>): (flow: string) => void {
  return (flow) => {
    const permit = gate.admit({ flow }) as Permit
    permit.finish('success')
  }
}
