import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { fixed } from './capacity/index.js'
import { createGate } from './create-gate.js'
import { LeaseLine, waiting } from './doorman/lease.js'
import { requestQueue } from './queue/request-queue.js'
import { AbortListeners } from './signals.js'
import { manualClock } from './testing/manual-clock.js'

/** Requests as on Workers: only the running one may touch its own signal; access to any other throws. */
class Requests {
  #running: number | undefined = undefined
  #count = 0

  begin() {
    const id = this.#count++
    const controller = new AbortController()
    const touch = (): void => {
      if (this.#running !== id) throw new Error('Cannot perform I/O on behalf of a different request.')
    }
    const signal = new Proxy(controller.signal, {
      get(of, name) {
        touch()
        const value: unknown = Reflect.get(of, name, of)
        return typeof value === 'function' ? value.bind(of) : value
      },
    })
    return {
      signal,
      /** Runs something on behalf of this request. */
      run: <T>(work: () => T): T => {
        const before = this.#running
        this.#running = id
        try {
          return work()
        } finally {
          this.#running = before
        }
      },
      leave: () => controller.abort(),
    }
  }
}

async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

describe('signals that only their own request may touch', () => {
  it('a queue admits a waiting request when another ends, and notices one that leaves', async () => {
    const requests = new Requests()
    const capacity = fixed(1)
    const gate = createGate({
      fair: false,
      queue: requestQueue({ concurrency: capacity, maxWaitMs: 1_000 }),
      clock: manualClock(),
    })
    const [first, second, third, fourth] = [requests.begin(), requests.begin(), requests.begin(), requests.begin()]
    const permit = first.run(() => gate.admit({ flow: 'a', signal: first.signal }))
    const answers = [second, third, fourth].map(({ run, signal }) =>
      run(() => Promise.resolve(gate.admit({ flow: 'a', signal }))),
    )
    third.run(() => third.leave())
    if (permit instanceof Promise || !permit.admitted) throw new Error('not admitted at once')
    first.run(() => permit.finish('success'))
    await settled()
    expect(gate.snapshot()).toMatchObject({ inFlight: 1, waiting: 1, stageErrors: 0 })
    first.run(() => capacity.resize(2))
    await settled()
    expect(gate.snapshot()).toMatchObject({ inFlight: 2, waiting: 0, stageErrors: 0 })
    expect((await Promise.all(answers)).map(({ admitted }) => admitted)).toEqual([true, false, true])
  })

  it('a gate that closes lets go of those that wait for a stage that is not prompt', async () => {
    const requests = new Requests()
    const gate = createGate({ fair: false, stages: [{ name: 'slow', admit: () => new Promise(() => {}) }] })
    const { run, signal } = requests.begin()
    const asked = run(() => gate.admit({ flow: 'a', signal }))
    gate.close()
    expect(await asked).toMatchObject({ admitted: false, reason: 'closed' })
  })

  it('a lease serves a waiting caller, and does not count a client that leaves later', async () => {
    const { run, signal, leave } = new Requests().begin()
    const line = new LeaseLine()
    let left = 0
    const served = run(() => waiting(line, 1, signal, () => left++))
    line.serve(() => true)
    await expect(served).resolves.toBeUndefined()
    run(leave)
    expect([left, line.length]).toEqual([0, 0])
  })
})

describe('listeners to signals', () => {
  it('hears once, of its own signal, by one listener per signal', () => {
    const listeners = new AbortListeners<{ aborted(): void }>()
    const signals = [new AbortController(), new AbortController()]
    const heard: number[] = []
    const all = Array.from({ length: 100 }, (_, i) => ({ aborted: () => void heard.push(i) }))
    for (const [i, one] of all.entries()) listeners.add(signals[i % 2]!.signal, one)
    expect(signals.map(({ signal }) => getEventListeners(signal, 'abort').length)).toEqual([1, 1])
    listeners.remove(signals[0]!.signal, all[0]!)
    signals[0]!.abort()
    signals[0]!.signal.dispatchEvent(new Event('abort'))
    expect(new Set(heard)).toEqual(new Set(all.map((_, i) => i).filter((i) => i > 0 && i % 2 === 0)))
  })

  it('leaves no listener behind', () => {
    const listeners = new AbortListeners<{ aborted(): void }>()
    const { signal } = new AbortController()
    const all = Array.from({ length: 3 }, () => ({ aborted: () => {} }))
    for (const one of all) listeners.add(signal, one)
    for (const one of all) listeners.remove(signal, one)
    expect(getEventListeners(signal, 'abort')).toEqual([])
    listeners.add(signal, all[0]!)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  })

  it('is let go although its signal may not be touched any more', () => {
    const listeners = new AbortListeners<{ aborted(): void }>()
    const { signal } = new AbortController()
    signal.removeEventListener = () => {
      throw new Error('another request')
    }
    const one = { aborted: () => {} }
    listeners.add(signal, one)
    expect(() => listeners.remove(signal, one)).not.toThrow()
  })
})
