import { FairQueue, type FairQueueOptions, type Ticket } from '@fairlead/core/queue'

/** A request to a language model; tokens and seconds. */
export interface Generation {
  readonly client: number
  readonly atS: number
  readonly prompt: number
  readonly output: number
}

/** A request inside the engine. */
interface Running extends Generation {
  done: number
  firstS: number
  endS: number
}

/** Order of the requests that wait for the engine. */
export interface EngineQueue {
  add(request: Running): void
  peek(): Running | undefined
  take(): void
  /** The request has written one more token. */
  token?(request: Running): void
  ended?(request: Running): void
}

/**
 * A model of an engine with continuous batching: S-LoRA on one A10G, as the paper on VTC has it. A KV pool of 10 000
 * tokens, in which all that runs must fit until it ends; a look at the queue every ten steps; a step takes 22 ms, and
 * more with the batch and its context. The constants are fitted to the first-come row of the paper's own raw results.
 */
const POOL_TOKENS = 10_000
const PREFILL_TOKENS = 3_072
const PREFILL_EVERY = 10
const MOST_RUNNING = 1_000
const IDLE_S = 0.01
const decodeS = (batch: number, context: number): number => 0.022 + 0.0002 * batch + 1.7e-6 * context
const prefillS = (tokens: number): number => 0.02 + 0.00034 * tokens

/** The paper's price of a request: its prompt and twice its answer. */
const priceOf = ({ prompt, output }: Generation): number => prompt + 2 * output

/** Whether the next request fits beside what runs, until the last of them has ended. */
function fits(next: Running, requests: readonly Running[]): boolean {
  const byRest = requests
    .map(({ prompt, output, done }) => ({ now: prompt + done, rest: Math.max(0, output - done - 1) }))
    .concat({ now: next.prompt + 1, rest: next.output - 1 })
    .sort((a, b) => b.rest - a.rest)
  let [present, most] = [0, 0]
  for (const [i, { now, rest }] of byRest.entries()) {
    present += now
    most = Math.max(most, present + rest * (i + 1))
  }
  return most < POOL_TOKENS && requests.length < MOST_RUNNING
}

export interface Served {
  readonly requests: readonly Running[]
  readonly seconds: number
}

/** Serves all requests, which come in order of time. */
export function serve(all: readonly Generation[], queue: EngineQueue): Served {
  let [nowS, arrived, steps] = [0, 0, 0]
  let running: Running[] = []
  const ended: Running[] = []
  const write = (request: Running): void => {
    request.done++
    queue.token?.(request)
  }
  const endDone = (): void => {
    for (const request of running.filter(({ done, output }) => done >= output)) {
      request.endS = nowS
      ended.push(request)
      queue.ended?.(request)
    }
    running = running.filter(({ done, output }) => done < output)
  }
  const prefill = (): boolean => {
    const batch: Running[] = []
    let tokens = 0
    for (let next = queue.peek(); next !== undefined; next = queue.peek()) {
      if (tokens + next.prompt > PREFILL_TOKENS || !fits(next, [...running, ...batch])) break
      queue.take()
      batch.push(next)
      tokens += next.prompt
    }
    if (batch.length === 0) return false
    nowS += prefillS(tokens)
    for (const request of batch) {
      request.firstS = nowS
      write(request)
    }
    running.push(...batch)
    steps = 0
    endDone()
    return true
  }
  while (ended.length < all.length) {
    for (; arrived < all.length && all[arrived]!.atS <= nowS; arrived++)
      queue.add({ ...all[arrived]!, done: 0, firstS: 0, endS: 0 })
    if (running.length === 0) {
      if (!prefill()) nowS = Math.max(nowS + IDLE_S, all[arrived]?.atS ?? 0)
      continue
    }
    if (steps >= PREFILL_EVERY && prefill()) continue
    const context = running.reduce((sum, { prompt, done }) => sum + prompt + done, 0)
    nowS += decodeS(running.length, context)
    for (const request of running) write(request)
    steps++
    endDone()
  }
  return { requests: ended, seconds: nowS }
}

/** The paper's windows: each 28.5 s, a minute long. */
const [DURATION_S, WINDOW_S, WARMUP_S, POINTS] = [600, 60, 30, 20]

/** The paper's measure: service that clients got less than the best-served one, as far as they asked for it. */
export interface Unfairness {
  readonly most: number
  readonly mean: number
  readonly tokensPerS: number
}

export function unfairness({ requests, seconds }: Served): Unfairness {
  const clients = [...new Set(requests.map(({ client }) => client))]
  const sums: number[] = []
  for (let point = 1; point < POINTS; point++) {
    const middleS = ((DURATION_S - WARMUP_S) / POINTS) * point + WARMUP_S
    const [fromS, toS] = [middleS - WINDOW_S / 2, middleS + WINDOW_S / 2]
    const asked = new Map(clients.map((client) => [client, 0]))
    const got = new Map(asked)
    for (const request of requests) {
      const { client, atS, firstS, endS } = request
      const rate = priceOf(request) / WINDOW_S
      if (fromS <= atS && atS <= toS) asked.set(client, asked.get(client)! + rate)
      if (endS < 1 || endS - firstS < 1e-5) continue
      const within = Math.max(0, Math.min(toS, endS) - Math.max(fromS, firstS)) / (endS - firstS)
      got.set(client, got.get(client)! + rate * within)
    }
    const best = Math.max(...got.values())
    const missed = (client: number): number =>
      Math.min(best - got.get(client)!, Math.abs(asked.get(client)! - got.get(client)!))
    sums.push(clients.reduce((sum, client) => sum + missed(client), 0))
  }
  const tokens = requests.reduce((sum, { prompt, output }) => sum + prompt + output, 0)
  return {
    most: Math.max(...sums),
    mean: sums.reduce((sum, missed) => sum + missed, 0) / sums.length,
    tokensPerS: tokens / seconds,
  }
}

/** The paper's synthetic overloads: prompts and answers of 256 tokens, at steady rates per second. */
export function steadyLoad(rates: readonly number[], seconds = 360): readonly Generation[] {
  return rates
    .flatMap((rate, client) =>
      Array.from({ length: Math.floor(seconds * rate) }, (_, i) => {
        return { client, atS: 0.4 + (client * 0.37) / rate / 8 + i / rate, prompt: 256, output: 256 }
      }),
    )
    .sort((a, b) => a.atS - b.atS)
}

export function firstCome(): EngineQueue {
  const line: Running[] = []
  return { add: (request) => void line.push(request), peek: () => line[0], take: () => void line.shift() }
}

/**
 * Virtual token counter: the client that has had least is next; one that comes back starts level with the least active.
 * A counter that knows how long answers will be charges them at the start.
 */
export function tokenCounter({ knows = false }: { readonly knows?: boolean } = {}): EngineQueue {
  const had = new Map<number, number>()
  const lines = new Map<number, Running[]>()
  const least = (): Running[] | undefined => {
    let best: number | undefined
    for (const [client, line] of lines)
      if (line.length > 0 && (best === undefined || had.get(client)! < had.get(best)!)) best = client
    return best === undefined ? undefined : lines.get(best)
  }
  const charge = (client: number, amount: number): void => void had.set(client, had.get(client)! + amount)
  return {
    add(request) {
      const { client } = request
      const line = lines.get(client) ?? []
      if (!lines.has(client)) {
        lines.set(client, line)
        had.set(client, 0)
      }
      const others = [...lines].filter(([name, { length }]) => name !== client && length > 0)
      if (line.length === 0 && others.length > 0)
        had.set(client, Math.max(had.get(client)!, Math.min(...others.map(([name]) => had.get(name)!))))
      line.push(request)
    },
    peek: () => least()?.[0],
    take() {
      const request = least()!.shift()!
      charge(request.client, knows ? priceOf(request) : request.prompt)
    },
    token: ({ client }) => charge(client, knows ? 0 : 2),
  }
}

/** Seconds over which {@link leastLately} looks back. */
const LATELY_S = 30

/**
 * Optimises the paper's measure itself, and knows the lengths of answers: the client with the least cost of running and
 * recently ended requests is next. Not for use: it forgets earlier service, and lengths are unknown in practice.
 */
export function leastLately(): EngineQueue {
  const lines = new Map<number, Running[]>()
  const begun = new Map<number, Running[]>()
  let nowS = 0
  const had = (client: number): number => {
    const counted = (begun.get(client) ?? []).filter(({ endS }) => endS === 0 || endS > nowS - LATELY_S)
    begun.set(client, counted)
    return counted.reduce((sum, request) => sum + priceOf(request), 0)
  }
  const least = (): Running[] | undefined => {
    const waiting = [...lines]
      .filter(([, { length }]) => length > 0)
      .map(([client, line]) => ({ line, had: had(client) }))
    return waiting.sort((a, b) => a.had - b.had)[0]?.line
  }
  return {
    add(request) {
      nowS = request.atS
      lines.set(request.client, [...(lines.get(request.client) ?? []), request])
    },
    peek: () => least()?.[0],
    take() {
      const request = least()!.shift()!
      begun.set(request.client, [...(begun.get(request.client) ?? []), request])
    },
    ended({ endS }) {
      nowS = endS
    },
  }
}

/** An order in a gateway that admits `slots` requests at a time to an engine, which serves them in order of arrival. */
export function gateway(slots: number, order: EngineQueue): EngineQueue {
  const engine = firstCome()
  let inside = 0
  const pass = (): void => {
    for (; inside < slots; inside++) {
      const next = order.peek()
      if (next === undefined) return
      order.take()
      engine.add(next)
    }
  }
  return {
    ...engine,
    add(request) {
      order.add(request)
      pass()
    },
    token: (request) => order.token?.(request),
    ended(request) {
      inside--
      order.ended?.(request)
      pass()
    },
  }
}

/** What an answer is expected to have, before the first has ended. */
const FIRST_GUESS = 256

/**
 * Our queue, charged the prompt and twice the mean answer so far; what an answer has more, as it is written; settled at
 * its end.
 */
export function ours(options: FairQueueOptions = {}): EngineQueue {
  const queue = new FairQueue<Running>({ perFlowLimit: 100_000, maxWaiting: 100_000, ...options })
  const tickets = new Map<Running, Ticket<Running>>()
  let [ended, outputs] = [0, 0]
  return {
    add(request) {
      const expected = ended > 0 ? outputs / ended : FIRST_GUESS
      queue.enqueue(`client-${request.client}`, request, request.prompt + 2 * expected)
    },
    peek: () => queue.peek()?.item,
    take() {
      const ticket = queue.dequeue()!
      tickets.set(ticket.item, ticket)
    },
    token: (request) => queue.charge(tickets.get(request)!, request.prompt + 2 * request.done),
    ended(request) {
      ended++
      outputs += request.output
      queue.settle(tickets.get(request)!, priceOf(request))
      tickets.delete(request)
    },
  }
}
