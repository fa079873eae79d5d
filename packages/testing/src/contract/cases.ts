import type { AdapterHarness } from './harness.js'
import { Rig, type RigOptions } from './rig.js'

/** Longest duration of an ordinary case. */
export const TIMEOUT_MS = 180_000

/**
 * One case of the contract: `it(name, run, timeoutMs)` in any test runner. It rejects with an assertion error if it
 * fails.
 */
export interface ContractCase {
  readonly name: string
  /** Longest duration, in milliseconds: the case ends by itself before that, and names the condition it waited for. */
  readonly timeoutMs: number
  /** Starts an app of its own, tries the case, and stops it. */
  run(): Promise<void>
}

/** Collects the cases of one topic. */
export class Cases<Target extends readonly unknown[]> {
  readonly all: ContractCase[] = []
  readonly #harness: AdapterHarness<Target>

  constructor(harness: AdapterHarness<Target>) {
    this.#harness = harness
  }

  /** Adds a case on a gate with a probe as its only stage. */
  plain(name: string, act: (rig: Rig<Target>) => Promise<void>): void {
    this.add(name, () => ({}), act)
  }

  /** Adds a case; `options` is called for each run, so that stages are fresh. */
  add(name: string, options: () => RigOptions<Target>, act: (rig: Rig<Target>) => Promise<void>): void {
    const { timeoutMs = TIMEOUT_MS } = options()
    this.all.push({ name, timeoutMs, run: () => Rig.run(this.#harness, options(), act) })
  }
}
