import type { Gate } from '@fairlead/core'
import { keyedHash, keyFrom, nameKeyOf, originMs, systemAfter, systemClock, type Words } from '@fairlead/core/internal'
import { SCRIPT, SCRIPT_HASH, STYLE, STYLE_HASH, WORKER } from '#assets'
import { act, labelIn } from './control.js'
import { Fleet } from './fleet.js'
import { type NodeRequest, type NodeResponse, send, toRequest } from './node-bridge.js'
import { type ConsoleOptions, requireConsoleOptions, type Viewer } from './options.js'
import { tellable } from './told.js'
import { Viewers } from './viewers.js'

/**
 * A console to mount: a `fetch` handler, and a handler of Node's requests, as Express and Nest call it. One URL serves
 * everything; the query selects the part.
 */
export interface FairConsole {
  (request: Request): Promise<Response>
  (request: NodeRequest, response: NodeResponse, next?: unknown): Promise<void>
  /**
   * For a shutdown: disconnects viewers, stops all timers, and answers 503 from now on, also to requests that wait for
   * `auth`. Open pages reconnect by themselves once another process serves the same URL.
   */
  close(): void
  /** Number of viewers. */
  readonly viewers: number
}

const POLICY = [
  "default-src 'none'",
  `script-src '${SCRIPT_HASH}'`,
  `style-src '${STYLE_HASH}'`,
  'img-src data:',
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Headers of every answer: no other site may read or frame it, no cache may keep it, no browser may guess its type. */
const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** The worker gets all data from its page. */
const WORKER_HEADERS = {
  'content-type': 'text/javascript; charset=utf-8',
  'content-security-policy': "default-src 'none'",
} as const

/** Most stages in an explanation; and our own stages, for consoles that hash names. */
const MOST_STAGES = 32
const OWN_STAGES: readonly string[] = ['fair', 'queue', 'overrides']

const NO_AUTH_TEXT = `This console has no auth, and so is only served in development.
Say who may see it: fairConsole(gate, { auth: (request) => ... }), or auth: false where something in front sees to that.
`

/**
 * A live page of a gate. Without viewers it has no listener, no timer and no state (except for `fleet`). It changes
 * nothing, unless `control` is given. Throws a `TypeError` or `RangeError` that names the option and its value.
 */
export function fairConsole<Raw = unknown>(gate: Gate, options: ConsoleOptions<Raw> = {}): FairConsole {
  requireConsoleOptions(gate, options)
  return handlerOf(new Console(gate, options))
}

/** Both forms of a console in one function: called with a `Request`, or with Node's request and response. */
function handlerOf<Raw>(console: Console<Raw>): FairConsole {
  function handle(request: Request): Promise<Response>
  function handle(request: NodeRequest, response: NodeResponse): Promise<void>
  async function handle(request: Request | NodeRequest, response?: NodeResponse): Promise<unknown> {
    // `auth` was written for the framework's own arguments.
    if (response === undefined || request instanceof Request) return console.answer(request as Request, request as Raw)
    return send(await answerOf(console, request), request, response)
  }
  return Object.defineProperty(Object.assign(handle, { close: () => console.close(), viewers: 0 }), 'viewers', {
    get: () => console.viewers,
  })
}

/** Middleware in front may have turned the request into an invalid one. */
async function answerOf<Raw>(console: Console<Raw>, request: NodeRequest): Promise<Response> {
  let asked: Request
  try {
    asked = toRequest(request)
  } catch {
    return text(400, 'Not a request.\n')
  }
  return console.answer(asked, request as Raw)
}

class Console<Raw> {
  readonly #gate: Gate
  readonly #options: ConsoleOptions<Raw>
  readonly #token: string
  readonly #viewers: Viewers
  readonly #fleet: Fleet | undefined
  readonly #key: Words | undefined
  /** Answer the requests that wait for `auth`. */
  readonly #waiting = new Set<() => void>()
  #closed = false

  constructor(gate: Gate, options: ConsoleOptions<Raw>) {
    const { hashFlows = false, clock = systemClock, after = systemAfter, fleet, process = processName() } = options
    this.#gate = gate
    this.#options = options
    this.#token = hex(keyFrom(random)) + hex(keyFrom(random))
    if (hashFlows !== false) this.#key = typeof hashFlows === 'string' ? nameKeyOf(hashFlows) : keyFrom(random)
    const origin = originMs(clock)
    const timeOfDay = (): number => origin + clock()
    if (fleet !== undefined) this.#fleet = new Fleet(gate, fleet, process, timeOfDay, after)
    const label = (flow: string): string => this.#label(flow)
    const isHashed = this.#key !== undefined
    this.#viewers = new Viewers(gate, { clock, timeOfDay, random, label, isHashed, process }, after, this.#fleet)
  }

  get viewers(): number {
    return this.#viewers.size
  }

  close(): void {
    this.#closed = true
    this.#viewers.close()
    this.#fleet?.close()
    for (const answer of [...this.#waiting]) answer()
  }

  /** Never rejects: an unhandled rejection would end the process. */
  async answer(request: Request, raw: Raw): Promise<Response> {
    try {
      const known = await this.#viewer(request, raw)
      // The process is about to end, and with it a connection that is kept for the next request.
      if (this.#closed) return text(503, 'This console is closed.\n', { connection: 'close' })
      // By its form rather than its class: there may be several response classes, and a wrong guess would admit the
      // viewer.
      return 'answer' in known ? known.answer : this.#answerTo(known.viewer, request)
    } catch {
      return text(500, 'The console failed.\n')
    }
  }

  #answerTo(viewer: string | undefined, request: Request): Response {
    const { searchParams } = new URL(request.url)
    if (searchParams.has('act')) return this.#act(request, searchParams, viewer)
    if (request.method !== 'GET' && request.method !== 'HEAD') return text(405, 'Only GET.', { allow: 'GET, HEAD' })
    if (searchParams.has('events')) return this.#events(request, searchParams.has('record'))
    if (searchParams.has('why')) return this.#why(searchParams.get('why'))
    if (searchParams.has('worker')) return text(200, WORKER, WORKER_HEADERS)
    return this.#page()
  }

  /** The viewer's name, for the audit; or the answer to a rejected viewer. */
  async #viewer(request: Request, raw: Raw): Promise<{ viewer: string | undefined } | { answer: Response }> {
    const { auth } = this.#options
    if (auth === false || (auth === undefined && isDevelopment())) return { viewer: undefined }
    if (auth === undefined) return { answer: text(403, NO_AUTH_TEXT) }
    let known: Viewer
    try {
      known = this.#closed ? undefined : await this.#untilClosed(auth(request, raw))
      if (typeof known === 'object' && known !== null) return { answer: await ownCopy(known) }
    } catch {
      // The error belongs to the application: strangers must not see it.
      return { answer: text(500, 'auth failed.\n') }
    }
    if (known === true) return { viewer: undefined }
    return typeof known === 'string' && known !== '' ? { viewer: known } : { answer: text(403, 'Not for you.\n') }
  }

  /**
   * The result of `auth`, or nothing once the console is closed: `auth` may take long, and a closing server waits for
   * answers.
   */
  #untilClosed<Said>(said: Said | Promise<Said>): Promise<Said | undefined> {
    return new Promise((resolve, reject) => {
      const close = (): void => resolve(undefined)
      this.#waiting.add(close)
      Promise.resolve(said)
        .then(resolve, reject)
        .finally(() => this.#waiting.delete(close))
    })
  }

  #page(): Response {
    const { control = false } = this.#options
    const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">${control ? `\n<meta name="fairlead-token" content="${this.#token}">` : ''}
<title>${escaped(this.#gate.name)} · Fairlead</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body class="fairlead"><div id="console"><noscript>This page is live, and needs JavaScript.</noscript></div><script type="module">${SCRIPT}</script></body>
</html>
`
    return text(200, html, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY })
  }

  #events(request: Request, records: boolean): Response {
    const { maxViewers = 20 } = this.#options
    if (this.#viewers.size >= maxViewers) return text(503, 'Too many viewers.\n', { 'retry-after': '10' })
    const lastId = Number(request.headers.get('last-event-id') ?? 0)
    const headers = {
      ...HEADERS,
      'content-type': 'text/event-stream; charset=utf-8',
      // Compression or buffering would hold the frames back.
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    }
    if (request.method === 'HEAD') return new Response(null, { headers })
    return new Response(this.#viewers.stream(Number.isFinite(lastId) ? lastId : 0, records), { headers })
  }

  #why(label: string | null): Response {
    if (labelIn(label) === undefined) return text(400, 'why must be a flow, as JSON.\n')
    const flow = this.#flowOf(label)
    if (flow === undefined) return text(404, 'No such flow.\n')
    return text(200, JSON.stringify(this.#explained(flow)), { 'content-type': 'application/json' })
  }

  /** Bounded per stage: a long explanation of one stage takes no room from the others. */
  #explained(flow: string): Record<string, unknown> {
    const isHashed = this.#key !== undefined
    const all = Object.entries(this.#gate.explain(flow)).slice(0, MOST_STAGES)
    const told = isHashed ? all.filter(([stage]) => OWN_STAGES.includes(stage)) : all
    return Object.fromEntries(told.map(([stage, said]) => [stage, tellable(said, isHashed)]))
  }

  #act(request: Request, parameters: URLSearchParams, by: string | undefined): Response {
    if (this.#options.control !== true) return text(404, 'This console only looks.\n')
    if (request.method !== 'POST') return text(405, 'Only POST.', { allow: 'POST' })
    // A page of another site can neither read the token nor send the header, and browsers state a request's origin.
    const site = request.headers.get('sec-fetch-site')
    if (request.headers.get('x-fairlead-token') !== this.#token || (site !== null && site !== 'same-origin'))
      return text(403, 'Not from this page. Load it anew.\n')
    const done = act(this.#gate, parameters, (label) => this.#flowOf(label), by)
    return text(done.status, done.text)
  }

  #flowOf(parameter: string | null): string | undefined {
    const label = labelIn(parameter)
    if (label === undefined) return undefined
    return this.#key === undefined ? label : this.#viewers.watch?.flowOf(label)
  }

  #label(flow: string): string {
    if (this.#key === undefined) return flow
    const hash: Words = { a: 0, b: 0 }
    keyedHash(flow, this.#key, hash)
    return `#${hex(hash).slice(0, 8)}`
  }
}

/**
 * The response of `auth`, read once: it may return the same response to each request, and clones of clones would
 * accumulate.
 */
const read = new WeakMap<Response, Promise<{ status: number; headers: [string, string][]; body: ArrayBuffer | null }>>()

/** A copy as a platform response, for any class: libraries have response classes of their own. */
async function ownCopy(given: Response): Promise<Response> {
  let known = read.get(given)
  if (known === undefined) {
    known = readWhole(given)
    read.set(given, known)
  }
  const { body, ...head } = await known
  return new Response(body, head)
}

async function readWhole({ status, headers, body }: Response) {
  return { status, headers: [...headers], body: body === null ? null : await new Response(body).arrayBuffer() }
}

function text(status: number, body: string, headers: Record<string, string> = {}): Response {
  return new Response(body, {
    status,
    headers: { ...HEADERS, 'content-type': 'text/plain; charset=utf-8', ...headers },
  })
}

/** Random text for the token and for keys, from the platform's cryptographic generator. */
function random(): number {
  return globalThis.crypto.getRandomValues(new Uint32Array(1))[0]! / 0x1_0000_0000
}

function hex({ a, b }: Words): string {
  return [a, b].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

function escaped(name: string): string {
  return name.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Runtimes without Node's `process` are never in development. */
function isDevelopment(): boolean {
  return typeof process === 'object' && process.env['NODE_ENV'] === 'development'
}

function processName(): string {
  return typeof process === 'object' && typeof process.pid === 'number' ? `pid ${process.pid}` : 'this process'
}
