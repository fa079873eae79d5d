import type { Decision, Permit } from '../admission/decision.js'
import type { Gate } from '../admission/gate.js'
import { type Outcome, outcomes } from '../admission/outcome.js'
import type { Refusal } from '../admission/refusal.js'
import { requireBoolean, requireFunction, requireOneOf } from '../options.js'
import { coinRandom, type Random } from '../random.js'
import type { LoadSignal } from '../shed/index.js'
import { AddressFlows, namedFlow, UNKNOWN_ADDRESS } from './address-flow.js'
import { gateOf, type HttpOptions, type OnError, requireHttpOptions, type TellRateLimit } from './options.js'
import { outcomeOf } from './outcome.js'
import { type Fields, rateLimitFields } from './rate-limit-fields.js'
import { type HttpRefusal, httpRefusal, OPTION_FAILED } from './refusal.js'
import { type NodeHead, onResponseHead } from './response-head.js'
import { type FairRequest, HttpVisit, type Judge } from './visit.js'
import { consoleWarning, Warnings } from './warnings.js'

/** All that the core needs to know of a framework; `target` is what its handlers get. */
export interface Framework<Target extends readonly unknown[]> {
  /** What the user calls, for messages: `fairMiddleware`. */
  readonly name: string
  /** The address of the client, as far as the framework trusts what it was told. */
  address(...target: Target): string | undefined
  /** The status that the response was sent with; undefined where there is none. */
  status(...target: Target): number | undefined
  /** What to shed by, if the user does not say: fresh signals, or none. */
  signals(queued: boolean): readonly LoadSignal[]
}

/**
 * Turns a framework's requests into decisions of a gate, and how they ended into outcomes: all that adapters have in
 * common. Never throws into a request: what the user's functions do wrong is answered as `onError` says.
 */
export class HttpAdmission<Target extends readonly unknown[]> implements Judge<Target> {
  readonly gate: Gate
  readonly #framework: Framework<Target>
  readonly #options: HttpOptions<Target>
  readonly #onError: OnError
  readonly #rateLimit: TellRateLimit
  readonly #random: Random
  readonly #warnings: Warnings
  readonly #addresses: AddressFlows

  /** Throws a `TypeError` or `RangeError` that names the option and its value. */
  constructor(framework: Framework<Target>, options: HttpOptions<Target>) {
    requireHttpOptions(framework.name, options)
    const { onError = 'address', onWarning = consoleWarning, ipv6Prefix = 56, random = coinRandom } = options
    requireFunction('random', random)
    this.#rateLimit = options.rateLimit ?? 'near'
    this.#framework = framework
    this.#options = { ...options }
    this.#onError = onError
    this.#random = random
    this.#warnings = new Warnings(onWarning)
    this.#addresses = new AddressFlows(ipv6Prefix, this.#warnings)
    this.gate = gateOf(options, (queued) => framework.signals(queued))
  }

  /** Begins a visit. `outer` is the visit to a gate that the request passed before. */
  visit(target: Target, outer: FairRequest | undefined): HttpVisit<Target> {
    return new HttpVisit(this, target, outer)
  }

  /**
   * Asks the gate. Undefined: the request is none of our business (`skip`), let it pass. If the client has left
   * already, the answer is a refusal with reason `gone`.
   */
  ask(visit: HttpVisit<Target>): Decision | Promise<Decision> | undefined {
    const decision = this.#ask(visit)
    const { outer } = visit
    if (outer === undefined || decision === undefined) return decision
    const told = (late: Decision): Decision => {
      if (!late.admitted || this.gate.hasFair) outer.judgedInside()
      return late
    }
    return decision instanceof Promise ? decision.then(told) : told(decision)
  }

  #ask(visit: HttpVisit<Target>): Decision | Promise<Decision> | undefined {
    const { target } = visit
    const { skip, cost, resource, priority, exempt } = this.#options
    // Nothing can be known of a client that has left, not even its address; the gate only counts it.
    if (visit.isGone) return this.gate.admit({ flow: UNKNOWN_ADDRESS, signal: visit.signal })
    try {
      if (skip !== undefined && yes('skip', skip(...target))) return undefined
      return this.gate.admit({
        flow: this.#flow(target),
        cost: cost === undefined ? 1 : (now(cost(...target)) ?? 1),
        resource: (resource !== undefined && now(resource(...target))) || undefined,
        priority: priority === undefined ? 0 : (now(priority(...target)) ?? 0),
        exempt: exempt !== undefined && yes('exempt', exempt(...target)),
        signal: () => visit.signal,
      })
    } catch (error) {
      return this.#withoutOptions(visit, error)
    }
  }

  /** A refusal in HTTP's words. */
  refusal(refusal: Refusal): HttpRefusal {
    return httpRefusal(refusal, this.#random, this.#rateLimit !== 'never')
  }

  /**
   * What the response to an admitted request, of this status, is to tell of its budgets at this moment; undefined for
   * most. A redirect tells nothing unless that is always wanted: clients may wait before they follow it.
   */
  fields(permit: Permit, status: number = 200): Fields | undefined {
    const when = this.#rateLimit
    if (when === 'never' || status < 200) return undefined
    if (when === 'near' && status >= 300 && status < 400 && status !== 304) return undefined
    try {
      const quotas = permit.quotas()
      return quotas.length === 0 ? undefined : rateLimitFields(quotas, when)
    } catch (error) {
      this.warn('The quota of a stage failed: clients are not told of it.', error)
      return undefined
    }
  }

  /** Sees to it that a response of Node tells {@link fields}, if there are any, whoever writes its head. */
  tell(permit: Permit, response: NodeHead): void {
    if (this.fields(permit) !== undefined) onResponseHead(response, (status) => this.fields(permit, status))
  }

  /** What to tell the user once, and never again. */
  warn(message: string, cause?: unknown): void {
    this.#warnings.say(message, cause)
  }

  /** @internal Judges a response that was sent to its end. */
  outcome(visit: HttpVisit<Target>): Outcome {
    const { target, error } = visit
    const { outcome } = this.#options
    if (outcome !== undefined) {
      try {
        const answer = now(outcome(...target, error))
        requireOneOf('outcome', answer, outcomes)
        return answer
      } catch (cause) {
        this.warn('outcome failed: the default answered instead.', cause)
      }
    }
    return outcomeOf(this.#framework.status(...target), error)
  }

  #flow(target: Target): string {
    const { flow } = this.#options
    const name = flow === undefined ? undefined : now(flow(...target))
    if (!name) return this.#addressFlow(target)
    return typeof name === 'string' ? namedFlow(name) : name
  }

  #addressFlow(target: Target): string {
    const { address } = this.#options
    return this.#addresses.flow(address === undefined ? this.#framework.address(...target) : now(address(...target)))
  }

  /** The answer to a request about which the user's functions failed. */
  #withoutOptions(visit: HttpVisit<Target>, cause: unknown): Decision | Promise<Decision> | undefined {
    this.warn(`An option failed; requests like this are answered as onError: '${this.#onError}' says.`, cause)
    if (this.#onError === 'admit') return undefined
    if (this.#onError === 'refuse') return OPTION_FAILED
    let flow = UNKNOWN_ADDRESS
    try {
      flow = this.#addressFlow(visit.target)
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
