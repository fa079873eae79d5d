type Step = () => unknown

/** What there is to do at the end, in the order in which it must happen. Within a phase all goes on at once. */
export class Shutdown {
  readonly #phases: Record<'handOver' | 'drain' | 'end', Step[]> = { handOver: [], drain: [], end: [] }
  #running: Promise<void> | undefined

  on(phase: 'handOver' | 'drain' | 'end', step: Step): void {
    this.#phases[phase].push(step)
  }

  /** Does it once. Never rejects: a step that fails keeps none of the others from being done. */
  run(): Promise<void> {
    this.#running ??= this.#run()
    return this.#running
  }

  async #run(): Promise<void> {
    for (const steps of [this.#phases.handOver, this.#phases.drain, this.#phases.end])
      await Promise.allSettled(steps.map(async (step) => step()))
  }
}
