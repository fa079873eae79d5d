import type { AdapterHarness } from './harness.js'
import { Rig, type RigOptions } from './rig.js'

/** One case of the contract: `it(name, run)` in any test runner. It rejects with an assertion error if it fails. */
export interface ContractCase {
  readonly name: string
  run(): Promise<void>
}

/** Collects the cases of one topic. */
export class Cases<Target extends readonly unknown[]> {
  readonly all: ContractCase[] = []
  readonly #harness: AdapterHarness<Target>

  constructor(harness: AdapterHarness<Target>) {
    this.#harness = harness
  }

  /** Adds a case on a gate that holds nothing but a probe. */
  plain(name: string, act: (rig: Rig<Target>) => Promise<void>): void {
    this.add(name, () => ({}), act)
  }

  /** Adds a case; `options` is called for each run, so that stages are fresh. */
  add(name: string, options: () => RigOptions<Target>, act: (rig: Rig<Target>) => Promise<void>): void {
    this.all.push({ name, run: () => Rig.run(this.#harness, options(), act) })
  }
}
