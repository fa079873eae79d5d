// An OpenAI-compatible proxy that is fair between tenants: pnpm --filter @fairlead-examples/llm-gateway start
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { budgetStage } from '@fairlead/core/escrow'
import { type FairRequest, fairMiddleware, requestQueue } from '@fairlead/express'
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express'
import { openBudget } from './budget.js'
import { Engine, engineApp } from './engine.js'
import { AnswerLengths } from './lengths.js'
import { type ChatRequest, chunkOf, errorBody, eventsOf, readChat, type Usage, usageOf, wordsOf } from './openai.js'

/** API keys, and each tenant's weight in a shortage. */
const WEIGHTS: Readonly<Record<string, number>> = { enterprise: 4, team: 2, free: 1 }

const { PORT = '3000', TOKENS = '10000', WINDOW_SECONDS = '60', REDIS_URL, UPSTREAM_URL } = process.env
const { SLOTS = '32', POOL_TOKENS = '10000', MAX_WAIT_SECONDS = '60', STEP_MS = '20' } = process.env

const poolTokens = Number(POOL_TOKENS)

/** The engine: your own or, for trying out, one that runs here and repeats its prompt. */
const engine = new Engine({ batch: Number(SLOTS), poolTokens, stepMs: Number(STEP_MS) })
const ownEngine = UPSTREAM_URL ? undefined : engineApp(engine).listen(0, '127.0.0.1')
const upstream = ownEngine === undefined ? UPSTREAM_URL : await urlOf(ownEngine)

async function urlOf(server: Server): Promise<string> {
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const weightOf = (name: string, above: readonly string[] = []): number =>
  above.length === 0 && Object.hasOwn(WEIGHTS, name) ? WEIGHTS[name]! : 1
const windowMs = Number(WINDOW_SECONDS) * 1_000
const budget = await openBudget({ limit: Number(TOKENS), windowMs, weightOf }, REDIS_URL || undefined)
const lengths = new AnswerLengths()

/** Data about a request before admission. Costs and units are tokens. */
interface Asked {
  readonly tenant: string
  readonly chat: ChatRequest
  /** The key under which lengths are learned. */
  readonly key: string
  readonly promptTokens: number
}

const requests = new WeakMap<Request, Asked>()
const keyOf = (req: Request): string => /^Bearer (.+)$/.exec(req.get('authorization') ?? '')?.[1] ?? ''

/** Accepts known tenants with a readable question: later handlers may rely on that. */
const read: RequestHandler = (req, res, next) => {
  const tenant = keyOf(req)
  const chat = readChat(req.body)
  if (!Object.hasOwn(WEIGHTS, tenant))
    res.status(401).json(errorBody('no such API key', 'authentication_error', 'invalid_api_key'))
  else if (typeof chat === 'string') res.status(400).json(errorBody(chat, 'invalid_request_error', 'bad_request'))
  else if (wordsOf(chat).length >= poolTokens)
    res.status(400).json(errorBody('the prompt is too long', 'invalid_request_error', 'context_length_exceeded'))
  else {
    const key = JSON.stringify([tenant, chat.user, chat.model])
    requests.set(req, { tenant, chat, key, promptTokens: wordsOf(chat).length })
    next()
  }
}

const fair = fairMiddleware({
  // Tenants have shares, and the users of a tenant divide its share.
  flow: (req) => [requests.get(req)!.tenant, requests.get(req)!.chat.user],
  // The expected cost. An unused part comes back at the end; an excess is charged as it streams.
  cost: (req) => {
    const { promptTokens, key, chat } = requests.get(req)!
    return promptTokens + lengths.expected(key, chat.maxTokens)
  },
  weightOf,
  // As many requests at once as the engine can decode together, and as fit into its KV cache: the rest waits here, in
  // fair turns.
  queue: requestQueue({
    concurrency: Number(SLOTS),
    maxWaitMs: Number(MAX_WAIT_SECONDS) * 1_000,
    pool: {
      size: poolTokens,
      unitsOf: ({ target }) => {
        const { promptTokens, key, chat } = requests.get(target?.[0] as Request)!
        // The engine cuts off an answer that would not fit.
        return Math.min(poolTokens, promptTokens + lengths.cautious(key, chat.maxTokens))
      },
    },
    classOf: ({ target }) => requests.get(target?.[0] as Request)!.chat.model,
  }),
  budget: budgetStage(budget.escrow),
  rateLimit: 'always',
  // OpenAI's clients wait for the time of Retry-After, and read this body.
  handler: (_req, res, { refusal, status }) =>
    res.json(
      status === 429
        ? errorBody(`over its share: ${refusal.reason}`, 'tokens', 'rate_limit_exceeded')
        : errorBody(`too busy: ${refusal.reason}`, 'server_error', 'overloaded'),
    ),
  // No other stage is needed: the engine is elsewhere, and this process has little work.
  fair: false,
  shed: false,
})

fair.gate.observe((event) => {
  if (event.type === 'refused') console.log(`refused ${event.flow}: ${event.refusal.reason}`)
  if (event.type === 'finished') console.log(`${event.flow} spent ${event.cost}`)
})

/**
 * Sends the request to the engine. Always asks for the usage, because that is charged, even if the client does not want
 * it.
 */
function askEngine(req: Request, { stream }: ChatRequest, signal: AbortSignal): Promise<globalThis.Response> {
  const body = stream ? { ...req.body, stream_options: { include_usage: true } } : req.body
  const headers = { 'content-type': 'application/json' }
  return fetch(`${upstream}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body), signal })
}

/** The result of a request. */
interface Ended {
  readonly usage: Usage | undefined
  readonly outcome: 'success' | 'failure' | 'ignored'
}

const NOTHING_USED: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

/** An overloaded engine reports that; any other error says nothing about its capacity. */
const outcomeOf = (code: unknown): 'failure' | 'ignored' => ([429, 503].includes(Number(code)) ? 'failure' : 'ignored')

/** Passes an answer on as it arrives, including an error in the middle, and charges each token as it is written. */
async function passStream(
  reply: globalThis.Response,
  res: Response,
  { tellsUsage }: ChatRequest,
  permit: FairRequest['permit'],
  signal: AbortSignal,
): Promise<Ended> {
  let usage: Usage | undefined
  let outcome: Ended['outcome'] = 'success'
  res.type('text/event-stream')
  for await (const data of eventsOf(reply.body!)) {
    const chunk = chunkOf(data)
    if (chunk?.error) outcome = outcomeOf(chunk.error.code)
    usage = usageOf(chunk?.usage) ?? usage
    if (chunk?.choices?.[0]?.delta?.content) permit?.charge(1)
    const isOurs = chunk?.choices?.length === 0 && !tellsUsage
    if (!isOurs && !res.write(`data: ${data}\n\n`)) await once(res, 'drain', { signal })
  }
  res.end()
  return { usage, outcome }
}

async function chat(req: Request, res: Response): Promise<void> {
  const asked = requests.get(req)!
  const permit = req.fair?.permit
  const signal = req.fair?.signal ?? new AbortController().signal
  let { usage, outcome }: Ended = { usage: undefined, outcome: 'success' }
  try {
    permit?.charge(asked.promptTokens)
    const reply = await askEngine(req, asked.chat, signal)
    if (!reply.ok) {
      // The engine itself is short, or the question was invalid: it says so, and the question cost nothing.
      outcome = outcomeOf(reply.status)
      usage = NOTHING_USED
      const retryAfter = reply.headers.get('retry-after')
      if (retryAfter !== null) res.set('Retry-After', retryAfter)
      res.status(reply.status).type(reply.headers.get('content-type') ?? 'application/json')
      res.send(await reply.text())
    } else if (asked.chat.stream) {
      const ended = await passStream(reply, res, asked.chat, permit, signal)
      usage = ended.usage
      outcome = ended.outcome
    } else {
      const answer = (await reply.json()) as { usage?: unknown } | null
      usage = usageOf(answer?.usage)
      res.json(answer)
    }
    if (outcome === 'success' && usage !== undefined) lengths.learn(asked.key, usage.completion_tokens)
  } catch (error) {
    outcome = 'ignored'
    if (signal.aborted) return
    console.log(`engine failed: ${String(error)}`)
    usage = NOTHING_USED
    if (res.headersSent) res.destroy()
    else res.status(502).json(errorBody('the engine cannot be reached', 'server_error', 'bad_gateway'))
  } finally {
    // A client that leaves pays for the tokens until then: the charges. `wrap` keeps the permit until this function
    // ends: this `finish` counts, and the middleware's later one has no effect.
    permit?.finish(outcome, usage === undefined ? {} : { cost: usage.total_tokens })
  }
}

const app = express()
// The cost depends on the body, so here it is read first. Its size is bounded.
app.post('/v1/chat/completions', express.json({ limit: '1mb' }), read, fair, fair.wrap(chat))
app.get('/v1/models', async (_req, res) => {
  const reply = await fetch(`${upstream}/v1/models`)
  res.status(reply.status).json(await reply.json())
})
app.get('/admission', (_req, res) => {
  const { inFlight, waiting, stages } = fair.gate.snapshot()
  res.json({ inFlight, waiting, queue: stages['queue'], budget: budget.escrow.snapshot(), engine: engine.state })
})

/** Reports bodies that are no JSON, or too large, in OpenAI's format too. */
const tell: ErrorRequestHandler = (error: { status?: number; message: string }, _req, res, next) => {
  const { status = 500, message } = error
  if (res.headersSent) next(error)
  else if (status < 500) res.status(status).json(errorBody(message, 'invalid_request_error', 'bad_request'))
  else res.status(status).json(errorBody('the gateway failed', 'server_error', 'internal_error'))
}
app.use(tell)

const server = app.listen(Number(PORT), (error) => {
  if (error) throw error
  console.log('listening on', server.address())
})

process.once('SIGTERM', () => {
  fair.gate.close()
  ownEngine?.close()
  server.close(() => void budget.close())
})
