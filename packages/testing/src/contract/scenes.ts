import { type FairRequest, ResourceExhaustedError } from '@fairlead/core/http'
import { type FairLimit, fairLimit } from '@fairlead/core/queue'
import type { HandlerAnswer } from './harness.js'
import { turns } from './turns.js'

/** The handlers of a case: the behaviour of each path, and its progress. */
export class Scenes {
  /** Handlers begun, by path. */
  readonly begun: Map<string, number> = new Map()
  /** Handlers that have not settled, and their largest number at once. */
  running = 0
  most = 0
  /** The visits passed to handlers that have not been collected yet. */
  readonly visits: WeakRef<FairRequest>[] = []
  /** Number of signals passed to handlers that have fired. */
  signalled = 0
  /** Flows for which handlers have used a limit without naming one. */
  readonly limited: string[] = []
  readonly #limit: FairLimit = fairLimit({
    concurrency: 1,
    weightOf: (flow) => {
      this.limited.push(flow)
      return 1
    },
  })
  readonly #changed: () => void
  #curtain: Promise<void>
  #raise: () => void = () => {}

  constructor(changed: () => void) {
    this.#changed = changed
    this.#curtain = new Promise((resolve) => {
      this.#raise = resolve
    })
  }

  /** Lets every waiting handler continue, now and later. */
  raiseCurtain(): void {
    this.#raise()
  }

  /** The handler of all paths. */
  play(path: string, fair: FairRequest | undefined): HandlerAnswer | Promise<HandlerAnswer> {
    this.begun.set(path, (this.begun.get(path) ?? 0) + 1)
    if (fair !== undefined) this.visits.push(new WeakRef(fair))
    this.#changed()
    const answer = this.#perform(path, fair)
    if (!(answer instanceof Promise)) return answer
    this.running++
    this.most = Math.max(this.most, this.running)
    return answer.finally(() => {
      this.running--
      this.#changed()
    })
  }

  #perform(path: string, fair: FairRequest | undefined): HandlerAnswer | Promise<HandlerAnswer> {
    const status = Number(path.split('/')[2])
    switch (path.split('/')[1]) {
      case 'send':
        return { kind: 'send', status, body: 'done' }
      case 'big':
        return { kind: 'send', status: 200, body: 'x'.repeat(status) }
      case 'http-error':
        return { kind: 'http-error', status }
      case 'throw':
        throw new Error('a scene that throws')
      case 'exhausted':
        throw new ResourceExhaustedError()
      case 'reject':
        return Promise.reject(new Error('a scene that rejects'))
      case 'reject-exhausted':
        return Promise.reject(new ResourceExhaustedError())
      case 'stream':
        return { kind: 'stream', chunks: this.#chunks() }
      case 'broken-stream':
        return { kind: 'stream', chunks: this.#brokenChunks() }
      case 'open-stream':
        this.#watch(fair)
        return { kind: 'stream', chunks: this.#openChunks() }
      case 'twice':
        return { kind: 'twice', body: 'done' }
      case 'finish':
        fair?.permit?.finish('failure')
        fair?.permit?.finish('success')
        return { kind: 'send', status: 200, body: 'done' }
      case 'wait':
        this.#watch(fair)
        return this.#curtain.then(() => ({ kind: 'send', status: 200, body: 'done' }))
      case 'wait-short':
        return this.#curtain.then(() => ({ kind: 'send', status: 503, body: 'done' }))
      case 'wait-short-held': {
        const done = fair?.hold()
        return this.#curtain.then(() => {
          turns(20).then(done)
          return { kind: 'send', status: 503, body: 'done' }
        })
      }
      case 'wait-exhausted':
        return this.#curtain.then(() => {
          throw new ResourceExhaustedError()
        })
      case 'settle':
        this.#watch(fair)
        return this.#curtain.then(() => {
          fair?.permit?.finish('ignored', { cost: status })
          return { kind: 'send', status: 200, body: 'done' }
        })
      case 'limited':
        return turns(3).then(() => this.#limit(() => ({ kind: 'send', status: 200, body: 'done' })))
      case 'turns':
        return turns(status).then(() => ({ kind: 'send', status: 200, body: 'done' }))
      case 'late-throw':
        return turns(status).then(() => {
          throw new Error('a scene that throws late')
        })
      case 'slow-stream':
        return { kind: 'stream', chunks: this.#slowChunks(status) }
      case 'obey':
        return this.#obey(fair)
      case 'never':
        return new Promise(() => {})
      default:
        throw new Error(`no scene at ${path}`)
    }
  }

  /** Works until the client is gone. */
  #obey(fair: FairRequest | undefined): Promise<HandlerAnswer> {
    return new Promise((resolve) => {
      fair?.signal.addEventListener('abort', () => resolve({ kind: 'send', status: 200, body: 'too late' }))
    })
  }

  /** Counts a signal that fires, provided that the permit is still held then. */
  #watch(fair: FairRequest | undefined): void {
    fair?.signal.addEventListener('abort', () => {
      if (fair.permit?.finished === false) this.signalled++
      this.#changed()
    })
  }

  async *#chunks(): AsyncGenerator<string> {
    yield 'one,'
    yield 'two,'
    yield 'three'
  }

  async *#slowChunks(turnsEach: number): AsyncGenerator<string> {
    for (let i = 0; i < 5; i++) {
      yield `${i},`
      await turns(turnsEach)
    }
  }

  async *#brokenChunks(): AsyncGenerator<string> {
    yield 'one,'
    await turns(1)
    throw new Error('a stream that breaks')
  }

  async *#openChunks(): AsyncGenerator<string> {
    yield 'one,'
    await this.#curtain
    yield 'two'
  }
}
