/** The part of a request that the gateway reads: the body of OpenAI's `POST /v1/chat/completions`. */
export interface ChatRequest {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly stream: boolean
  /** The answer is cut off after this number of tokens. */
  readonly maxTokens: number
  /** The tenant's user on whose behalf it asks. */
  readonly user: string
  /** Whether the client itself asks for the usage at the end of a stream. */
  readonly tellsUsage: boolean
}

export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
}

/** One event of a stream. The last has the usage, and no choices. */
export interface Chunk {
  readonly choices?: readonly { readonly delta: { readonly content?: string }; readonly finish_reason: string | null }[]
  readonly usage?: unknown
  /** Set instead if an error occurs after the answer has begun. */
  readonly error?: { readonly code?: unknown } | null
}

/** A chunk of a stream; `undefined` for other events, such as the final `[DONE]`. */
export function chunkOf(data: string): Chunk | undefined {
  try {
    const chunk: unknown = JSON.parse(data)
    return typeof chunk === 'object' && chunk !== null ? chunk : undefined
  } catch {
    return undefined
  }
}

const DEFAULT_MOST = 256

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** The engine's usage report; `undefined` unless it consists of three counts of tokens, which charging needs. */
export function usageOf(said: unknown): Usage | undefined {
  const { prompt_tokens, completion_tokens, total_tokens } = (said ?? {}) as Record<string, unknown>
  if (!isCount(prompt_tokens) || !isCount(completion_tokens) || !isCount(total_tokens)) return undefined
  return { prompt_tokens, completion_tokens, total_tokens }
}

/** Parses a body; returns a sentence that describes the error if it is invalid. */
export function readChat(body: unknown): ChatRequest | string {
  const given = (body ?? {}) as Record<string, unknown>
  const { model, messages, stream = false, user = 'default', stream_options: options } = given
  const maxTokens = given['max_completion_tokens'] ?? given['max_tokens'] ?? DEFAULT_MOST
  if (typeof model !== 'string' || model === '') return 'model must be a non-empty string'
  if (!Array.isArray(messages) || messages.length === 0) return 'messages must be a non-empty array'
  for (const message of messages as unknown[]) {
    const { role, content } = (message ?? {}) as Record<string, unknown>
    if (typeof role !== 'string' || typeof content !== 'string')
      return 'each message needs a role and a content of text'
  }
  if (typeof stream !== 'boolean') return 'stream must be true or false'
  if (!Number.isSafeInteger(maxTokens) || (maxTokens as number) < 1) return 'max_tokens must be an integer >= 1'
  if (typeof user !== 'string' || user === '' || user.length > 64) return 'user must be a string of 1 to 64 characters'
  const tellsUsage = (options as { include_usage?: unknown } | undefined)?.include_usage === true
  return {
    model,
    messages: messages as ChatRequest['messages'],
    stream,
    maxTokens: maxTokens as number,
    user,
    tellsUsage,
  }
}

/** Words, which the engine of this example uses as tokens. A real engine has a tokenizer; its usage is charged. */
export function wordsOf({ messages }: Pick<ChatRequest, 'messages'>): string[] {
  return messages.flatMap(({ content }) => content.split(/\s+/).filter(Boolean))
}

/** The body of an error in OpenAI's format. */
export function errorBody(message: string, type: string, code: string): { error: object } {
  return { error: { message, type, code, param: null } }
}

/** The data of a stream's events, one at a time, without an incomplete event at the end. */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of body) {
    const events = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n\r?\n/)
    rest = events.pop() ?? ''
    for (const event of events) {
      const data = event.split(/\r?\n/).filter((line) => line.startsWith('data:'))
      if (data.length > 0) yield data.map((line) => line.slice('data:'.length).trim()).join('\n')
    }
  }
}
