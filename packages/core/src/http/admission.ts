import type { Decision } from '../admission/decision.js'
import type { Gate } from '../admission/gate.js'
import { type Outcome, outcomes } from '../admission/outcome.js'
import type { Refusal } from '../admission/refusal.js'
import { requireBoolean, requireFunction, requireOneOf } from '../options.js'
import { type Random, systemRandom } from '../random.js'
import type { LoadSignal } from '../shed/index.js'
import { AddressFlows, UNKNOWN_ADDRESS } from './address-flow.js'
import { gateOf, type HttpOptions, type OnError, requireHttpOptions } from './options.js'
import { outcomeOf } from './outcome.js'
import { type HttpRefusal, httpRefusal, OPTION_FAILED } from './refusal.js'
import { type FairRequest, HttpVisit, type Judge } from './visit.js'
import { consoleWarning, Warnings } from './warnings.js'

/** All that the core needs to know of a framework. */
export interface Framework<Request, Response> {
  /** What the user calls, for messages: `fairMiddleware`. */
  readonly name: string
  /** The address of the client, as far as the framework trusts what it was told. */
  address(request: Request): string | undefined
  /** The status that the response was sent with. */
  status(response: Response): number
  /** What to shed by, if the user does not say: fresh signals, or none. */
  signals(queued: boolean): readonly LoadSignal[]
}

/**
 * Turns a framework's requests into decisions of a gate, and how they ended into outcomes: all that adapters have in
 * common. Never throws into a request: what the user's functions do wrong is answered as `onError` says.
 */
export class HttpAdmission<Request, Response> implements Judge<Request, Response> {
  readonly gate: Gate
  readonly #framework: Framework<Request, Response>
  readonly #options: HttpOptions<Request, Response>
  readonly #onError: OnError
  readonly #random: Random
  readonly #warnings: Warnings
  readonly #addresses: AddressFlows

  /** Throws a `TypeError` or `RangeError` that names the option and its value. */
  constructor(framework: Framework<Request, Response>, options: HttpOptions<Request, Response>) {
    requireHttpOptions(framework.name, options)
    const { onError = 'address', onWarning = consoleWarning, ipv6Prefix = 56, random = systemRandom } = options
    requireFunction('random', random)
    this.#framework = framework
    this.#options = { ...options }
    this.#onError = onError
    this.#random = random
    this.#warnings = new Warnings(onWarning)
    this.#addresses = new AddressFlows(ipv6Prefix, this.#warnings)
    this.gate = gateOf(options, (queued) => framework.signals(queued))
  }

  /** Begins a visit. `outer` is the visit to a gate that the request passed before. */
  visit(request: Request, response: Response, outer: FairRequest | undefined): HttpVisit<Request, Response> {
    return new HttpVisit(this, request, response, outer)
  }

  /**
   * Asks the gate. Undefined: the request is none of our business (`skip`), let it pass. If the client has left
   * already, the answer is a refusal with reason `gone`.
   */
  ask(visit: HttpVisit<Request, Response>): Decision | Promise<Decision> | undefined {
    const { request } = visit
    const { skip, flow, cost, priority, exempt } = this.#options
    // Nothing can be known of a client that has left, not even its address; the gate only counts it.
    if (visit.isGone) return this.gate.admit({ flow: UNKNOWN_ADDRESS, signal: visit.signal })
    try {
      if (skip !== undefined && yes('skip', skip(request))) return undefined
      return this.gate.admit({
        flow: (flow !== undefined && now(flow(request))) || this.#addressFlow(request),
        cost: cost === undefined ? 1 : (now(cost(request)) ?? 1),
        priority: priority === undefined ? 0 : (now(priority(request)) ?? 0),
        exempt: exempt !== undefined && yes('exempt', exempt(request)),
        signal: () => visit.signal,
      })
    } catch (error) {
      return this.#withoutOptions(visit, error)
    }
  }

  /** A refusal in HTTP's words. */
  refusal(refusal: Refusal): HttpRefusal {
    return httpRefusal(refusal, this.#random)
  }

  /** What to tell the user once, and never again. */
  warn(message: string, cause?: unknown): void {
    this.#warnings.say(message, cause)
  }

  /** @internal Judges a response that was sent to its end. */
  outcome(visit: HttpVisit<Request, Response>): Outcome {
    const { request, response, error } = visit
    const { outcome } = this.#options
    if (outcome !== undefined) {
      try {
        const answer = now(outcome(request, response, error))
        requireOneOf('outcome', answer, outcomes)
        return answer
      } catch (cause) {
        this.warn('outcome failed: the default answered instead.', cause)
      }
    }
    return outcomeOf(this.#framework.status(response), error)
  }

  #addressFlow(request: Request): string {
    return this.#addresses.flow(this.#framework.address(request))
  }

  /** The answer to a request about which the user's functions failed. */
  #withoutOptions(visit: HttpVisit<Request, Response>, cause: unknown): Decision | Promise<Decision> | undefined {
    this.warn(`An option failed; requests like this are answered as onError: '${this.#onError}' says.`, cause)
    if (this.#onError === 'admit') return undefined
    if (this.#onError === 'refuse') return OPTION_FAILED
    let flow = UNKNOWN_ADDRESS
    try {
      flow = this.#addressFlow(visit.request)
    } catch {
      // Its own functions may have failed the framework, too (who is trusted as a proxy).
    }
    return this.gate.admit({ flow, signal: () => visit.signal })
  }
}

/** The answer of a user's function. A promise is a bad one, and must not end the process when it rejects. */
function now<T>(answer: T): T {
  if (answer instanceof Promise) answer.catch(() => {})
  return answer
}

/** An answer that has to be true or false, or nothing. Whoever returns a promise would otherwise always say yes. */
function yes(name: string, answer: unknown): boolean {
  if (now(answer) === undefined) return false
  requireBoolean(name, answer)
  return answer === true
}
