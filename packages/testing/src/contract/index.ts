import { attackCases } from './attack-cases.js'
import type { ContractCase } from './cases.js'
import { crowdCases } from './crowd-cases.js'
import { endingCases } from './ending-cases.js'
import type { AdapterHarness } from './harness.js'
import { http2Cases } from './http2-cases.js'
import { leavingCases } from './leaving-cases.js'
import { optionCases } from './option-cases.js'
import { rateLimitCases } from './rate-limit-cases.js'
import { refusalCases } from './refusal-cases.js'

export type { ContractCase } from './cases.js'
export type { AdapterHarness, AppSetup, HandlerAnswer, RunningApp } from './harness.js'
export { listen } from './listen.js'

/**
 * The contract that every adapter keeps, as cases for any test runner:
 *
 * ```ts
 * for (const { name, run, timeoutMs } of adapterContract(harness)) it(name, run, timeoutMs)
 * ```
 *
 * Each case starts an app of its own, talks to it over real sockets, and checks at the end that the gate holds nothing:
 * no permit, no waiting request, and no hold of a stage that was not given back exactly once. Nothing sleeps; a
 * watchdog ends a hanging case, and names the condition it waited for. Needs Node, at least for the client.
 */
export function adapterContract<Target extends readonly unknown[]>(harness: AdapterHarness<Target>): ContractCase[] {
  const topics = [
    endingCases,
    leavingCases,
    attackCases,
    refusalCases,
    rateLimitCases,
    optionCases,
    http2Cases,
    crowdCases,
  ]
  return topics.flatMap((cases) => cases(harness))
}
