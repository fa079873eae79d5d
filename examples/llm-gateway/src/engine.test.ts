import { describe, expect, it } from 'vitest'
import { Engine } from './engine.js'
import { AnswerLengths } from './lengths.js'
import { type ChatRequest, eventsOf, readChat } from './openai.js'

const NEVER = new AbortController().signal
const chat = (words: number, maxTokens = words): ChatRequest => {
  const content = 'word '.repeat(words)
  return readChat({ model: 'echo', messages: [{ role: 'user', content }], max_tokens: maxTokens }) as ChatRequest
}

describe('the engine', () => {
  it('decodes a batch together, a token of each in a step, and the rest in order of arrival', async () => {
    const engine = new Engine({ batch: 2, poolTokens: 1_000, stepMs: 0 })
    const ended: string[] = []
    const ask = (name: string, words: number) =>
      engine
        .answer(chat(words), NEVER, () => {})
        .then((usage) => {
          ended.push(name)
          return usage
        })
    const [long] = await Promise.all([ask('long', 30), ask('short', 5), ask('next', 5), ask('last', 5)])
    expect(ended).toEqual(['short', 'next', 'last', 'long'])
    expect(long).toEqual({ prompt_tokens: 30, completion_tokens: 30, total_tokens: 60 })
    expect(engine.state).toMatchObject({ running: 0, waiting: 0, tokens: 0, mostRunning: 2 })
  })

  it('puts back what began last when its cache is full, and tells every token once', async () => {
    const engine = new Engine({ batch: 8, poolTokens: 60, stepMs: 0 })
    const words = [0, 0, 0]
    await Promise.all(words.map((_, i) => engine.answer(chat(15), NEVER, () => words[i]!++)))
    expect(words).toEqual([15, 15, 15])
    expect(engine.state.preempted).toBeGreaterThan(0)
    expect(engine.state.mostTokens).toBeLessThanOrEqual(60)
  })

  it('lets go of a request whose client has gone', async () => {
    const engine = new Engine({ batch: 1, poolTokens: 100_000, stepMs: 0 })
    const gone = new AbortController()
    const first = engine.answer(chat(40_000), gone.signal, () => {})
    const second = engine.answer(chat(3), NEVER, () => {})
    gone.abort()
    expect((await first).completion_tokens).toBeLessThan(40_000)
    expect((await second).completion_tokens).toBe(3)
  })
})

describe('lengths of answers', () => {
  it('are all that is allowed until known, then the mean, and what hardly any exceeds', () => {
    const lengths = new AnswerLengths()
    expect([lengths.expected('a', 500), lengths.cautious('a', 500)]).toEqual([500, 500])
    for (let i = 0; i < 100; i++) lengths.learn('a', i % 2 === 0 ? 80 : 120)
    expect(lengths.expected('a', 500)).toBeGreaterThan(90)
    expect(lengths.expected('a', 500)).toBeLessThan(110)
    expect(lengths.cautious('a', 500)).toBeGreaterThanOrEqual(120)
    expect(lengths.cautious('a', 500)).toBeLessThan(160)
    expect(lengths.cautious('a', 50)).toBe(50)
    expect(lengths.expected('b', 300)).toBe(300)
  })
})

describe('events of a stream', () => {
  it('are read whole, wherever they were cut', async () => {
    const bytes = new TextEncoder().encode('data: {"a":"ä"}\n\n: note\n\ndata: b\r\n\r\ndata: [DONE]\n\ndata: cut')
    const pieces = async function* () {
      for (const byte of bytes) yield new Uint8Array([byte])
    }
    const data: string[] = []
    for await (const each of eventsOf(pieces())) data.push(each)
    expect(data).toEqual(['{"a":"ä"}', 'b', '[DONE]'])
  })

  it.each([
    [{}, 'model must be a non-empty string'],
    [{ model: 'm', messages: [{ role: 'user' }] }, 'each message needs a role and a content of text'],
    [{ model: 'm', messages: [{ role: 'user', content: 'x' }], stream: 1 }, 'stream must be true or false'],
  ])('%j is no request', (body, why) => {
    expect(readChat(body)).toBe(why)
  })
})
