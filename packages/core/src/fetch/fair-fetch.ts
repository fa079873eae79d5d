import type { Gate } from '../admission/gate.js'
import { isWorkerd } from '../http/context.js'
import { type Framework, HttpAdmission } from '../http/http-admission.js'
import type { HttpOptions } from '../http/options.js'
import { ResourceExhaustedError } from '../http/outcome.js'
import { type Fields, type HttpRefusal, PROBLEM_JSON } from '../http/refusal.js'
import { requireFunction, show } from '../options.js'
import { addressFrom, awake, type Host, isResponse, outerOf, showOnBoth, watchRequest } from './host.js'
import { runtime } from './runtime/runtime.js'

/** Options of {@link fairFetch}; all optional. Functions receive the handler's arguments. */
export type FairFetchOptions<Rest extends readonly unknown[] = []> = HttpOptions<[request: Request, ...rest: Rest]>

/** A `fetch` handler, and the gate in front of it. */
export interface FairFetch<Rest extends readonly unknown[]> {
  (request: Request, ...rest: Rest): Promise<Response>
  readonly gate: Gate
}

/** A permit ends after a minute at the latest: servers may discard an answer without notice. */
const PERMIT_TIMEOUT_MS = 60_000
/** The status of an answer to a client that has left. */
const CLIENT_GONE = 499

/** Key of a request's answered status, which decides its outcome. */
const STATUS = Symbol('status')

interface Answered {
  [STATUS]?: number
}

/** The context that a worker's handler gets as its last argument. */
interface WorkerContext {
  waitUntil(work: Promise<unknown>): void
}

/**
 * Fair admission control for a `fetch` handler, on any runtime: Workers, `Bun.serve`, `Deno.serve`, route handlers of
 * Next, h3, SvelteKit and the like. Further arguments (environment, context, parameters) are passed on.
 *
 * A permit is kept until the handler has settled and the body of its answer was read, failed or was cancelled. The
 * handler finds it by `fairOf(request)`. `fairFetch` rejects as the handler does, except that a
 * `ResourceExhaustedError` is answered 503. Without options: FAIR between client addresses, if the server provides
 * them; on Node and Bun, load shedding by memory and event-loop delay; and permits that end after a minute. Starts
 * nothing before the first request. Throws a `TypeError` or `RangeError` that names a bad option and its value.
 */
export function fairFetch<Rest extends readonly unknown[] = []>(
  handler: (request: Request, ...rest: Rest) => Response | Promise<Response>,
  options: FairFetchOptions<Rest> = {},
): FairFetch<Rest> {
  requireFunction('handler', handler)
  const admission = new HttpAdmission<[request: Request, ...rest: Rest]>(FRAMEWORK, options)
  const { gate } = admission

  async function pass(request: Request, ...rest: Rest): Promise<Response> {
    const host = hostOf(rest)
    const visit = admission.visit([request, ...rest], outerOf(request, host))
    const end = watchRequest(request, host, visit)
    const asked = admission.ask(visit)
    const decision = asked instanceof Promise ? await awake(gate, asked) : asked
    if (decision === undefined) return (async () => handler(request, ...rest))().catch(exhausted)
    if (!decision.admitted && decision.reason !== 'gone') return refused(admission.refusal(decision), request, rest)
    if (!decision.admitted || !visit.admit(decision)) return new Response(null, { status: CLIENT_GONE })
    showOnBoth(request, host, visit)
    // Keeps the permit until the end of the answer is known.
    visit.handlerStarted()
    try {
      let answer: Response | undefined
      try {
        answer = await visit.run(() => handler(request, ...rest))
      } catch (error) {
        answer = exhausted(error)
      }
      if (!isResponse(answer)) throw new TypeError(`a fetch handler must give a Response, got ${show(answer)}`)
      ;(request as Answered)[STATUS] = answer.status
      const told = tell(answer, admission.fields(decision, answer.status))
      return end.follow(told, request.method) ?? told
    } catch (error) {
      visit.failed(error)
      end.follow(undefined, request.method)
      throw error
    } finally {
      visit.handlerSettled()
    }
  }

  /** The answer to a refused request: what the user's handler returns, or the problem document. */
  async function refused(refusal: HttpRefusal, request: Request, rest: Rest): Promise<Response> {
    const { status, headers, body } = refusal
    if (options.handler !== undefined) {
      try {
        const answer = await options.handler(request, ...rest, refusal)
        if (!isResponse(answer)) throw new TypeError('handler must return a Response')
        const missing = Object.keys(headers).filter((name) => !answer.headers.has(name))
        return missing.length === 0
          ? answer
          : tell(answer, Object.fromEntries(missing.map((name) => [name, headers[name] ?? ''])))
      } catch (cause) {
        admission.warn('handler failed: the problem document was sent instead.', cause)
      }
    }
    return new Response(body, { status, headers: { ...headers, 'Content-Type': PROBLEM_JSON } })
  }

  function passWorkerd(request: Request, ...rest: Rest): Promise<Response> {
    const passing = pass(request, ...rest)
    // Keeps the invocation alive: a handler that is cut off with its client would never return its permit.
    rest.find(isWorkerContext)?.waitUntil(passing.catch(() => {}))
    return passing
  }

  return Object.assign(isWorkerd ? passWorkerd : pass, { gate })
}

const FRAMEWORK: Framework<[request: Request, ...rest: readonly unknown[]]> = {
  name: 'fairFetch',
  address: (request, ...rest) => addressFrom(request, hostOf(rest)),
  status: (request) => (request as Answered)[STATUS],
  shed: (queued) => runtime.shed(queued),
  permitTimeoutMs: PERMIT_TIMEOUT_MS,
}

/** The answer to a request whose handler found the resource exhausted. */
function exhausted(error: unknown): Response {
  if (error instanceof ResourceExhaustedError) return error.getResponse()
  throw error
}

/**
 * The first argument after the request, if it is an object: Bun's server, or Deno's information about the connection.
 */
function hostOf([host]: readonly unknown[]): Host | undefined {
  return isWorkerd || typeof host !== 'object' || host === null ? undefined : host
}

/**
 * A response with fields added, appended to a field of the same name. Two kinds are copied: one without a body, which
 * may serve many requests; and a fetched one, whose headers are immutable. Others are not, because a copy would lose
 * the length of their body.
 */
function tell(response: Response, fields: Fields | undefined): Response {
  if (fields === undefined) return response
  let told = response.body === null ? new Response(null, response) : response
  for (const [name, value] of Object.entries(fields)) {
    try {
      told.headers.append(name, value)
    } catch {
      told = new Response(told.body, told)
      told.headers.append(name, value)
    }
  }
  return told
}

function isWorkerContext(given: unknown): given is WorkerContext {
  return typeof given === 'object' && given !== null && 'waitUntil' in given && typeof given.waitUntil === 'function'
}
