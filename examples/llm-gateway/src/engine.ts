import { setTimeout as sleep } from 'node:timers/promises'
import express, { type Express, type Request, type Response } from 'express'
import { type ChatRequest, errorBody, readChat, type Usage, wordsOf } from './openai.js'

/** The dimensions of an engine. */
export interface EngineOptions {
  /** Requests that it decodes together. */
  readonly batch: number
  /** Tokens that fit into its KV cache. */
  readonly poolTokens: number
  /** Duration of one step, in milliseconds, in which each request of the batch writes a token. */
  readonly stepMs: number
}

/** The present state of the engine. */
export interface EngineState {
  readonly running: number
  readonly waiting: number
  /** Tokens in the KV cache: prompts and answers so far. */
  readonly tokens: number
  /** Largest number of requests, and of tokens, at once so far. */
  readonly mostRunning: number
  readonly mostTokens: number
  /** Requests that were put back because the cache was full, to start again. */
  readonly preempted: number
}

/** One request in the engine. */
interface Sequence {
  readonly prompt: readonly string[]
  /** Number of tokens in the answer. */
  readonly length: number
  /** Tokens computed since its last start, and tokens sent to the client. */
  done: number
  told: number
  write(word: string): void
  end: () => void
}

/**
 * A stand-in for an inference engine (vLLM, TGI), for tests and for trying out: continuous batching, a KV cache of
 * limited size, and a queue in order of arrival. It repeats its prompt, up to `max_tokens`, one word per token. When
 * the cache is full the request that started last is put back and must be computed again, as in vLLM.
 */
export class Engine {
  readonly #options: EngineOptions
  #running: Sequence[] = []
  #waiting: Sequence[] = []
  #stepping = false
  #most = { running: 0, tokens: 0 }
  #preempted = 0

  constructor(options: EngineOptions) {
    this.#options = options
  }

  get state(): EngineState {
    return {
      running: this.#running.length,
      waiting: this.#waiting.length,
      tokens: this.#tokens,
      mostRunning: this.#most.running,
      mostTokens: this.#most.tokens,
      preempted: this.#preempted,
    }
  }

  /** Answers a request, word by word. Resolves when the answer is complete, or the signal has fired. */
  async answer(chat: ChatRequest, signal: AbortSignal, write: (word: string) => void): Promise<Usage> {
    const prompt = wordsOf(chat)
    const length = Math.min(prompt.length, chat.maxTokens)
    const sequence: Sequence = { prompt, length, done: 0, told: 0, write, end: () => {} }
    const leave = (): void => {
      this.#running = this.#running.filter((each) => each !== sequence)
      this.#waiting = this.#waiting.filter((each) => each !== sequence)
      sequence.end()
    }
    await new Promise<void>((resolve) => {
      sequence.end = resolve
      this.#waiting.push(sequence)
      signal.addEventListener('abort', leave, { once: true })
      if (signal.aborted) leave()
      void this.#step()
    })
    signal.removeEventListener('abort', leave)
    const written = sequence.told
    return { prompt_tokens: prompt.length, completion_tokens: written, total_tokens: prompt.length + written }
  }

  get #tokens(): number {
    return this.#running.reduce((sum, { prompt, done }) => sum + prompt.length + done, 0)
  }

  async #step(): Promise<void> {
    if (this.#stepping) return
    this.#stepping = true
    const { batch, poolTokens, stepMs } = this.#options
    while (this.#running.length + this.#waiting.length > 0) {
      await sleep(stepMs)
      for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
        const fits = this.#running.length === 0 || this.#tokens + next.prompt.length < poolTokens
        if (this.#running.length >= batch || !fits) break
        this.#waiting.shift()
        this.#running.push(next)
      }
      while (this.#running.length > 1 && this.#tokens + this.#running.length > poolTokens) {
        const last = this.#running.pop()!
        last.done = 0
        this.#waiting.unshift(last)
        this.#preempted++
      }
      for (const each of [...this.#running]) {
        each.done++
        if (each.done > each.told) {
          each.write(each.prompt[each.told]!)
          each.told++
        }
      }
      const { running, tokens } = this.#most
      this.#most = { running: Math.max(running, this.#running.length), tokens: Math.max(tokens, this.#tokens) }
      for (const each of this.#running) if (each.told >= each.length) each.end()
      this.#running = this.#running.filter(({ told, length }) => told < length)
    }
    this.#stepping = false
  }
}

/** The engine behind OpenAI's interface, for chats only. */
export function engineApp(engine: Engine): Express {
  const app = express()
  let made = 0

  async function chat(req: Request, res: Response): Promise<void> {
    const asked = readChat(req.body)
    if (typeof asked === 'string') {
      res.status(400).json(errorBody(asked, 'invalid_request_error', 'bad_request'))
      return
    }
    const gone = new AbortController()
    res.once('close', () => gone.abort())
    const about = { id: `chatcmpl-${made++}`, created: Math.floor(Date.now() / 1_000), model: asked.model }
    const reason = wordsOf(asked).length > asked.maxTokens ? 'length' : 'stop'
    if (!asked.stream) {
      const words: string[] = []
      const usage = await engine.answer(asked, gone.signal, (word) => words.push(word))
      const message = { role: 'assistant', content: words.join(' ') }
      res.json({ ...about, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: reason }], usage })
      return
    }
    res.type('text/event-stream')
    const send = (choices: readonly object[], more: object = {}): void => {
      res.write(`data: ${JSON.stringify({ ...about, object: 'chat.completion.chunk', choices, ...more })}\n\n`)
    }
    let first = true
    const usage = await engine.answer(asked, gone.signal, (word) => {
      send([{ index: 0, delta: { content: first ? word : ` ${word}` }, finish_reason: null }])
      first = false
    })
    send([{ index: 0, delta: {}, finish_reason: reason }])
    if (asked.tellsUsage) send([], { usage })
    res.end('data: [DONE]\n\n')
  }

  app.post('/v1/chat/completions', express.json({ limit: '1mb' }), chat)
  app.get('/v1/models', (_req, res) => {
    res.json({ object: 'list', data: [{ id: 'echo', object: 'model', owned_by: 'example' }] })
  })
  app.get('/engine', (_req, res) => {
    res.json(engine.state)
  })
  return app
}
