import { LeasedFairEscrow, WeightedFairEscrow } from '@fairlead/core/escrow'
import { RedisPoolStore } from '@fairlead/redis'
import { createClient } from 'redis'

/** The budget of all tenants together, and their weights if all want more. */
interface BudgetOptions {
  readonly limit: number
  readonly windowMs: number
  weightOf(tenant: string): number
}

/** A budget, and a function to leave it: credit that this process has drawn from a fleet's pool goes back. */
export interface OpenBudget {
  readonly escrow: WeightedFairEscrow | LeasedFairEscrow
  close(): Promise<void>
}

/** The budget of this process alone, or, with the URL of a Redis, one shared with all processes there. */
export async function openBudget(options: BudgetOptions, redisUrl: string | undefined): Promise<OpenBudget> {
  if (redisUrl === undefined) return { escrow: new WeightedFairEscrow(options), close: async () => {} }
  const client = createClient({ url: redisUrl })
  client.on('error', (error) => console.error(String(error))) // It reconnects by itself.
  await client.connect()
  const escrow = new LeasedFairEscrow({ ...options, pool: 'llm-gateway', store: new RedisPoolStore({ client }) })
  const close = async (): Promise<void> => {
    await escrow.close()
    client.destroy()
  }
  return { escrow, close }
}
