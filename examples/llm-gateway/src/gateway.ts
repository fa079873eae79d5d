// Tenants share a language model's tokens per minute, by weight: pnpm --filter @fairlead-examples/llm-gateway start
import { once } from 'node:events'
import { budgetStage } from '@fairlead/core/escrow'
import { fairMiddleware } from '@fairlead/express'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { openBudget } from './budget.js'
import { Answer, type Chat, tokensOf } from './model.js'

/** API keys, and what each weighs when there is not enough for all. */
const WEIGHTS: Readonly<Record<string, number>> = { enterprise: 4, team: 2, free: 1 }

const { PORT = '3000', TOKENS = '10000', WINDOW_SECONDS = '60', REDIS_URL } = process.env
const windowMs = Number(WINDOW_SECONDS) * 1_000
const weightOf = (tenant: string): number => WEIGHTS[tenant] ?? 1
const budget = await openBudget({ limit: Number(TOKENS), windowMs, weightOf }, REDIS_URL || undefined)

const tenantOf = (req: Request): string => req.get('x-api-key') ?? ''
const chats = new WeakMap<Request, Chat>()

/** Lets in whom it knows, with a question it can read: what comes after it may rely on that. */
const read: RequestHandler = (req, res, next) => {
  const { prompt, maxTokens = 100 } = (req.body ?? {}) as Partial<Chat>
  if (!Object.hasOwn(WEIGHTS, tenantOf(req))) res.status(401).json({ error: 'no such key' })
  else if (typeof prompt !== 'string' || tokensOf(prompt).length === 0) res.status(400).json({ error: 'no prompt' })
  else if (!Number.isSafeInteger(maxTokens) || maxTokens < 1) res.status(400).json({ error: 'bad maxTokens' })
  else {
    chats.set(req, { prompt, maxTokens })
    next()
  }
}

const fair = fairMiddleware({
  flow: tenantOf,
  // The most that it can cost. What it does not come to goes back when the answer is over.
  cost: (req) => {
    const { prompt, maxTokens } = chats.get(req)!
    return tokensOf(prompt).length + maxTokens
  },
  budget: budgetStage(budget.escrow),
  rateLimit: 'always',
  // Nothing else decides here: the model's machines are elsewhere, and this process has little to do.
  fair: false,
  shed: false,
})

fair.gate.observe((event) => {
  if (event.type === 'refused') console.log(`refused ${event.flow}: ${event.refusal.reason}`)
  if (event.type === 'finished') console.log(`${event.flow} spent ${event.cost}`)
})

async function chat(req: Request, res: Response): Promise<void> {
  const answer = new Answer(chats.get(req)!, req.fair?.signal)
  let gone = false
  try {
    res.type('text/event-stream')
    for await (const piece of answer)
      if (!res.write(`data: ${JSON.stringify(piece)}\n\n`)) await once(res, 'drain', { signal: req.fair?.signal })
    res.end(`data: ${JSON.stringify({ usage: answer.usage })}\n\n`)
  } catch (error) {
    gone = req.fair?.signal.aborted ?? false
    if (!gone) throw error
  } finally {
    // Who leaves pays for what was written until then. The permit is ours until this function is over, because it is
    // wrapped; what is said here counts, and the middleware's own word after it does not.
    req.fair?.permit?.finish(gone ? 'ignored' : 'success', { cost: answer.usage })
  }
}

const app = express()
// The cost depends on the body, so here it is read first. Its size is bounded.
app.post('/chat', express.json({ limit: '256kb' }), read, fair, fair.wrap(chat))
app.get('/budget', (_req, res) => {
  res.json({ inFlight: fair.gate.snapshot().inFlight, budget: budget.escrow.snapshot() })
})

const server = app.listen(Number(PORT), (error) => {
  if (error) throw error
  console.log('listening on', server.address())
})

process.once('SIGTERM', () => {
  fair.gate.close()
  server.close(() => void budget.close())
})
