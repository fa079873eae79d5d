import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { Sharing } from '@fairlead/core'
import { type ContractCase, TIMEOUT_MS } from '../contract/cases.js'
import type { FleetLoad, FleetMessage } from './member.js'

export { type FleetLoad, fleetLoad, runFleetMember } from './member.js'

/** The parts that a link between processes supplies to be tested by {@link fleetContract}. */
export interface FleetHarness {
  /** Starts a process, or a thread, that calls {@link runFleetMember} with its own link to the others. */
  start(load: FleetLoad): ChildProcess | Worker
  /** Cuts the link until `mend`. Without these two, that case is left out. */
  cut?(): unknown
  /** Restores the link. */
  mend?(): unknown
  /**
   * Takes the meeting place of the processes away until `alone` resolves because each uses its own clock, and restores
   * it without its memory. Without it, that case is left out.
   */
  forget?(alone: () => Promise<void>): unknown
  /** True if messages always arrive: loss is then not tested, and messages are not counted. */
  readonly isSafe?: boolean
}

/** A resource that serves a number of requests a second, and starts with as many in store. */
const PER_SECOND = 40
const PROCESSES = 4
/** Eight quiet flows and two loud ones, which together ask for twice the capacity; and a few that ask for little. */
const SHORT: FleetLoad['rates'] = Object.fromEntries(
  Array.from({ length: 10 }, (_, i) => [`flow-${i}`, i < 8 ? 2 : 32]),
)
const ENOUGH: FleetLoad['rates'] = { 'flow-0': 4, 'flow-1': 16 }
/** Longer than any wait of a working test, even on a busy machine. */
const PATIENCE_MS = 90_000

/**
 * The contract of every link through which the processes of a fleet share FAIR's clock, as cases for any test runner:
 *
 * ```ts
 * for (const { name, run, timeoutMs } of fleetContract(harness)) it(name, run, timeoutMs)
 * ```
 *
 * Real processes in real time, with a resource that the test simulates. Needs Node.
 */
export function fleetContract(harness: FleetHarness): ContractCase[] {
  const cases: ContractCase[] = []
  const add = (name: string, act: (fleet: FleetProcesses) => Promise<void>, rates = SHORT, lost = 0): void => {
    // Processes that met those of the previous case would inherit their clock.
    const gate = `orders-${cases.length}`
    const run = async (): Promise<void> => {
      const fleet = new FleetProcesses(harness, rates, lost, gate)
      try {
        await act(fleet)
      } finally {
        await fleet.stop()
      }
    }
    cases.push({ name, timeoutMs: TIMEOUT_MS, run })
  }

  add('shares one clock as soon as the resource is short, and each knows its part', async ({ all, shares }) => {
    await shares(all)
    await eventually(() => {
      const parts = all.map(({ sharing }) => sharing?.part ?? 0)
      assert.equal(Math.round(parts.reduce((sum, part) => sum + part, 0)), 1, `parts of ${parts}`)
      assert.ok(Math.max(...parts) < 0.6, `parts of ${parts}`)
      assert.equal(new Set(all.map(({ sharing }) => `${sharing?.name} ${sharing?.arbiter}`)).size, 1)
    })
  })

  add('goes on without one that is killed', async ({ all, shares }) => {
    await shares(all)
    await all[0]!.kill()
    await shares(all.slice(1))
  })

  add('lets successors join in a rolling deploy', async ({ all, shares, start }) => {
    await shares(all)
    const now = [...all]
    for (const old of all.slice(0, 2)) {
      await old.close()
      now.splice(now.indexOf(old), 1, start())
      await shares(now)
    }
  })

  if (harness.isSafe !== true) {
    const nothing = 'says nothing while there is enough, except a few questions'
    add(
      nothing,
      async ({ all }) => {
        await eventually(() => {
          for (const { asked } of all) assert.ok(asked > 50, `${asked} requests`)
        })
        for (const { reports, sharing } of all) {
          assert.equal(sharing, null)
          // Processes that share make more than this in two seconds.
          assert.ok(reports <= 6, `${reports} reports`)
        }
      },
      ENOUGH,
    )

    add(
      'shares also where one of twenty messages is lost',
      async ({ all, shares }) => {
        await shares(all)
        const before = all.map(({ reports }) => reports)
        await eventually(() => {
          for (const [i, { reports }] of all.entries()) assert.ok(reports > before[i]! + 100, `${reports} reports`)
        })
        await shares(all)
      },
      SHORT,
      0.05,
    )
  }

  if (harness.cut !== undefined)
    add('leaves each on its own while nothing gets through, and joins them again', async ({ all, alone, shares }) => {
      await shares(all)
      await harness.cut?.()
      try {
        await alone(all)
      } finally {
        await harness.mend?.()
      }
      await shares(all)
    })

  if (harness.forget !== undefined)
    add('starts again from what the processes know when the clock is forgotten', async ({ all, alone, shares }) => {
      await shares(all)
      const [first] = all
      const arbiter = first?.sharing?.arbiter
      await harness.forget?.(() => alone(all))
      await eventually(() => assert.notEqual(first?.sharing?.arbiter ?? arbiter, arbiter))
      await shares(all)
    })

  return cases
}

/** A process of the fleet. */
export class FleetMember {
  /** Its last report. */
  sharing: Sharing | null | undefined
  reports = 0
  asked = 0
  readonly #process: ChildProcess | Worker
  readonly #exited: Promise<unknown>

  constructor(process: ChildProcess | Worker, isServed: () => boolean) {
    this.#process = process
    this.#exited = once(process, 'exit')
    process.on('message', ({ id, ...said }: FleetMessage) => {
      Object.assign(this, said)
      if (id !== undefined) this.#send({ id, isServed: isServed() })
    })
  }

  /** Closes its gate and ends the process. */
  async close(): Promise<void> {
    this.#send('close')
    await this.#exited
  }

  /** Stops or continues it. Threads do not support that. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    if ('kill' in this.#process) this.#process.kill(name)
  }

  /** Kills it at once, like SIGKILL. */
  async kill(): Promise<void> {
    if ('kill' in this.#process) this.#process.kill('SIGKILL')
    else await this.#process.terminate()
    await this.#exited
  }

  #send(message: object | string): void {
    if ('postMessage' in this.#process) this.#process.postMessage(message)
    else if (this.#process.connected) this.#process.send(message, () => {})
  }
}

/** Four processes with one resource, as in the contract. */
export class FleetProcesses {
  readonly all: FleetMember[]
  readonly #started: FleetMember[] = []
  readonly #harness: Pick<FleetHarness, 'start'>
  readonly #load: FleetLoad
  #left = PER_SECOND
  #atMs = performance.now()

  constructor(harness: Pick<FleetHarness, 'start'>, rates: FleetLoad['rates'] = SHORT, lost = 0, gate = 'orders') {
    this.#harness = harness
    const own = Object.entries(rates).map(([flow, perSecond]) => [flow, perSecond / PROCESSES])
    this.#load = { gate, rates: Object.fromEntries(own), lost }
    this.all = Array.from({ length: PROCESSES }, this.start)
  }

  /** Starts one more. */
  readonly start = (): FleetMember => {
    const member = new FleetMember(this.#harness.start(this.#load), () => this.#take())
    this.#started.push(member)
    return member
  }

  /** Waits until each of these shares the clock with exactly the others. */
  readonly shares = (some: readonly FleetMember[]): Promise<void> =>
    eventually(() =>
      assert.deepEqual(
        some.map(({ sharing }) => sharing?.members),
        some.map(() => some.length),
        JSON.stringify(some.map(({ asked, reports, sharing }) => ({ asked, reports, sharing }))),
      ),
    )

  /** Waits until each of these uses its own clock. */
  readonly alone = (some: readonly FleetMember[]): Promise<void> =>
    eventually(() =>
      assert.deepEqual(
        some.map(({ sharing }) => sharing),
        some.map(() => null),
      ),
    )

  /** Kills all started processes. */
  async stop(): Promise<void> {
    await Promise.all(this.#started.map((member) => member.kill()))
  }

  #take(): boolean {
    const nowMs = performance.now()
    this.#left = Math.min(PER_SECOND, this.#left + ((nowMs - this.#atMs) * PER_SECOND) / 1000)
    this.#atMs = nowMs
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}

async function eventually(holds: () => void): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS
  for (;;)
    try {
      holds()
      return
    } catch (error) {
      if (performance.now() > endMs) throw error
      await sleep(20)
    }
}
