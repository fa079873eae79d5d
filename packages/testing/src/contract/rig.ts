import assert from 'node:assert/strict'
import type { Gate, GateSnapshot, Stage } from '@fairlead/core'
import { createGate, type GateOptions } from '@fairlead/core'
import type { HttpOptions } from '@fairlead/core/http'
import { hastenResponses } from '@fairlead/core/internal'
import { type ProbeStage, probeStage } from '@fairlead/core/testing'
import { exchange, RawClient, type Reply, type RequestParts } from './client.js'
import type { AdapterHarness, RunningApp } from './harness.js'
import { Scenes } from './scenes.js'

/** The set-up of a case. */
export interface RigOptions<Target extends readonly unknown[]> {
  /** Stages behind the probe. */
  stages?: readonly Stage[]
  /** Further options of the gate. */
  gate?: Pick<GateOptions, 'permitTimeoutMs' | 'clock' | 'queue'>
  /** Further options of the middleware. */
  options?: Omit<HttpOptions<Target>, 'gate'>
  /** Options of further middleware, inside the first. */
  inner?: readonly HttpOptions<Target>[]
  /** The handler is wrapped. */
  wrapped?: boolean
  /** Shortens all waits for clients to ten milliseconds each: the case tests their effects, not their length. */
  hasty?: boolean
  /** Longest duration of the whole case, in milliseconds, if that is long. */
  timeoutMs?: number
}

/** Longer than any wait of a working case. */
const WATCHDOG_MS = 60_000
const HURRY_MS = 100

/** A running app, its gate with a probe in it, and ways to wait for their changes. */
export class Rig<Target extends readonly unknown[]> {
  readonly gate: Gate
  readonly probe: ProbeStage
  readonly scenes: Scenes
  readonly harness: AdapterHarness<Target>
  readonly #gates: readonly Gate[]
  readonly #waits = new Set<() => void>()
  #app: RunningApp | undefined

  private constructor(harness: AdapterHarness<Target>, options: RigOptions<Target>) {
    // After the change, so that the gate has finished its work on it.
    const changed = (): void => queueMicrotask(() => this.#look())
    this.harness = harness
    this.probe = probeStage('probe', changed)
    this.scenes = new Scenes(changed)
    this.gate = createGate({ ...options.gate, fair: false, stages: [this.probe, ...(options.stages ?? [])] })
    const inner = (options.inner ?? []).flatMap(({ gate }) => (gate === undefined ? [] : [gate]))
    this.#gates = [...new Set([this.gate, ...inner])]
    for (const gate of this.#gates) gate.observe(changed)
  }

  /** Starts an app, runs `act`, and then checks that every gate is empty and nothing was given back twice. */
  static async run<Target extends readonly unknown[]>(
    harness: AdapterHarness<Target>,
    options: RigOptions<Target>,
    act: (rig: Rig<Target>) => Promise<void>,
  ): Promise<void> {
    const rig = new Rig(harness, options)
    rig.#app = await harness.start({
      middleware: [{ ...options.options, gate: rig.gate }, ...(options.inner ?? [])],
      wrapped: options.wrapped ?? false,
      play: (path, fair) => rig.scenes.play(path, fair),
    })
    const hurry = options.hasty === true ? setInterval(() => hastenResponses(HURRY_MS), HURRY_MS / 10) : undefined
    try {
      await rig.#guarded(act(rig), 'the case', options.timeoutMs)
      // Before the app closes, which would end anything that was forgotten.
      rig.scenes.raiseCurtain()
      await rig.until('every gate is empty', () => rig.#isEmpty())
      assert.equal(rig.probe.doubled, 0, 'a hold was given back twice')
    } finally {
      clearInterval(hurry)
      await rig.#app.close()
    }
  }

  get port(): number {
    return this.#app?.port ?? 0
  }

  exchange(path: string, sent: RequestParts = {}): Promise<Reply> {
    return exchange(this.port, path, sent)
  }

  connect(): Promise<RawClient> {
    return RawClient.connect(this.port)
  }

  snapshot(): GateSnapshot {
    return this.gate.snapshot()
  }

  /** Waits until `holds` is true; it is evaluated whenever a gate, the probe or a scene has changed. */
  until(what: string, holds: () => boolean): Promise<void> {
    let check = (): void => {}
    const reached = new Promise<void>((resolve) => {
      check = (): void => {
        if (holds()) resolve()
      }
      this.#waits.add(check)
      check()
    })
    return this.#guarded(reached, what).finally(() => this.#waits.delete(check))
  }

  /** Waits until this many handlers of `path` have begun. */
  begun(path: string, times: number = 1): Promise<void> {
    return this.until(`${times} × ${path} begun`, () => (this.scenes.begun.get(path) ?? 0) >= times)
  }

  /** Waits until the gate has counted this number of ended requests, then compares their outcomes. */
  async finished(expected: Partial<GateSnapshot['finished']>): Promise<void> {
    const all = { success: 0, failure: 0, ignored: 0, ...expected }
    const sum = all.success + all.failure + all.ignored
    await this.until(`${sum} finished`, () => this.probe.outcomes.length >= sum)
    assert.deepEqual(this.snapshot().finished, all)
  }

  #look(): void {
    for (const check of [...this.#waits]) check()
  }

  #isEmpty(): boolean {
    if (this.probe.outstanding > 0) return false
    return this.#gates.every((gate) => {
      const { inFlight, waiting } = gate.snapshot()
      return inFlight === 0 && waiting === 0
    })
  }

  async #guarded(work: Promise<void>, what: string, mostMs?: number): Promise<void> {
    let bark = (): void => {}
    const watchdogMs = mostMs ?? this.harness.watchdogMs ?? WATCHDOG_MS
    const timer = setTimeout(() => bark(), watchdogMs)
    const hung = new Promise<never>((_, reject) => {
      bark = (): void => {
        const state = this.#gates.map((gate) => gate.snapshot())
        const begun = Object.fromEntries(this.scenes.begun)
        reject(new Error(`waited ${watchdogMs} ms for: ${what}; ${JSON.stringify({ state, begun })}`))
      }
    })
    try {
      await Promise.race([work, hung])
    } finally {
      clearTimeout(timer)
    }
  }
}
