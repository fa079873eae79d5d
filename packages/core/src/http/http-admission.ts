import type { Decision, Permit } from '../admission/decision.js'
import type { Gate } from '../admission/gate.js'
import { type Outcome, outcomes } from '../admission/outcome.js'
import type { Refusal } from '../admission/refusal.js'
import type { Mechanism } from '../admission/stage.js'
import { requireBoolean, requireFunction, requireOneOf } from '../options.js'
import { type Flow, firstOf, namedFlow, requireFlow } from '../path.js'
import { coinRandom, type Random } from '../random.js'
import { andThen, heard, isLater, type NowOrLater } from '../rejection.js'
import { AddressFlows, UNKNOWN_ADDRESS } from './address-flow.js'
import { type FairRequest, HttpVisit, type Judge } from './http-visit.js'
import { consoleWarning, Mistakes, type OnWarning, warnOnce } from './mistakes.js'
import {
  gateOf,
  type HttpOptions,
  type OnError,
  type RouteOptions,
  requireHttpOptions,
  settingOf,
  type TellRateLimit,
} from './options.js'
import { outcomeOf } from './outcome.js'
import { type Fields, type HttpRefusal, httpRefusal, OPTION_FAILED, rateLimitFields } from './refusal.js'

/** The core's view of a framework; `target` is the arguments of its handlers. */
export interface Framework<Target extends readonly unknown[]> {
  /** The function that the user calls, for messages: `fairMiddleware`. */
  readonly name: string
  /** The client's address, with proxies trusted as the framework is configured. */
  address(...target: Target): string | undefined
  /** The status of the response that was sent; undefined without a response. */
  status(...target: Target): number | undefined
  /** The settings of the request's route, where a framework has those. Called once for each request. */
  settings?(...target: Target): RouteOptions<Target> | undefined
  /** The default load shedding; `queued`: requests wait in a queue. */
  shed(queued: boolean): Mechanism<'shed'> | false
  /** @internal The default limit on the duration of a permit, in milliseconds; undefined: none. */
  readonly permitTimeoutMs?: number | undefined
  /**
   * The request's headers, in lower case, if the framework is not configured to trust those that proxies set; undefined
   * if it is. `trust` names the setting, for messages; undefined if the framework has none.
   */
  untrustedHeaders?(...target: Target): Readonly<Record<string, unknown>> | undefined
  readonly trust?: string
}

/** The value of the option `flow`. */
type GivenFlow = Flow | null | undefined

type Route<Target extends readonly unknown[]> = RouteOptions<Target> | undefined

/** The options that are functions of a request. */
type RequestFunctions<Target extends readonly unknown[]> = {
  readonly [Name in 'skip' | 'flow' | 'cost' | 'resource' | 'priority' | 'exempt' | 'address' | 'outcome']:
    | HttpOptions<Target>[Name]
    | undefined
}

/** Stands for an option's answer that is no longer needed. */
const OVER = Symbol('over')

/** The gate's answer to a request; undefined if the gate does not judge it. */
export type GateAnswer = Decision | undefined

/**
 * Turns a framework's requests into decisions of a gate, and their ends into outcomes: the part that all adapters
 * share. Never throws into a request: if a user's function fails, `onError` decides.
 */
export class HttpAdmission<Target extends readonly unknown[]> implements Judge<Target> {
  readonly gate: Gate
  readonly #framework: Framework<Target>
  readonly #options: RequestFunctions<Target>
  readonly #onError: OnError
  readonly #rateLimit: TellRateLimit
  readonly #random: Random
  /** Warns the user once. */
  readonly warn: OnWarning
  readonly #mistakes: Mistakes<Target>
  readonly #addresses: AddressFlows

  /** Throws a `TypeError` or `RangeError` that names the option and its value. */
  constructor(framework: Framework<Target>, options: HttpOptions<Target>) {
    requireHttpOptions(framework.name, options)
    const { onError = 'address', onWarning = consoleWarning, ipv6Prefix = 56, random = coinRandom } = options
    requireFunction('random', random)
    this.#rateLimit = options.rateLimit ?? 'near'
    this.#framework = framework
    const { skip, flow, cost, resource, priority, exempt, address, outcome } = options
    // All gates' options have one shape, so that code that several gates run stays fast.
    this.#options = { skip, flow, cost, resource, priority, exempt, address, outcome }
    this.#onError = onError
    this.#random = random
    this.warn = warnOnce(onWarning)
    this.#mistakes = new Mistakes(framework, this.warn, options.gate === undefined)
    this.#addresses = new AddressFlows(ipv6Prefix, this.warn)
    this.gate = gateOf(options, framework)
    this.gate.observe?.((event) => {
      if (event.type === 'error') this.#mistakes.stageFailed(event.stage, event.error)
    }, 'error')
  }

  /** Begins a visit. `outer` is the visit to a gate that the request has already passed. */
  visit(target: Target, outer: FairRequest | undefined): HttpVisit<Target> {
    return new HttpVisit(this, target, outer)
  }

  /**
   * Asks the gate. Undefined: the gate does not judge this request (`skip`, or it has judged it before), let it pass.
   * If the client has left already, the answer is a refusal with reason `gone`. Never rejects.
   */
  ask(visit: HttpVisit<Target>): GateAnswer | Promise<GateAnswer> {
    const answer = this.#ask(visit)
    return visit.outer === undefined ? answer : this.#tellOuter(visit.outer, answer)
  }

  #tellOuter(outer: FairRequest, answer: GateAnswer | Promise<GateAnswer>): GateAnswer | Promise<GateAnswer> {
    return andThen(answer, (decision) => {
      if (decision !== undefined && (!decision.admitted || this.gate.hasFair)) outer.judgedInside()
      return decision
    })
  }

  #ask(visit: HttpVisit<Target>): GateAnswer | Promise<GateAnswer> {
    const { target } = visit
    // The options may fail for a client that has left; the gate only counts the request.
    if (visit.isGone) return this.#over(visit)
    if (visit.passed(this.gate)) {
      this.#mistakes.passedTwice()
      return undefined
    }
    try {
      const route = this.#framework.settings?.(...target)
      const skip = route?.skip || this.#options.skip?.(...target)
      return isLater(skip) ? this.#judgeLater(visit, route, skip) : this.#judge(visit, route, skip)
    } catch (error) {
      return this.#withoutOptions(visit, error)
    }
  }

  /** Renders a refusal as an HTTP response. */
  refusal(refusal: Refusal): HttpRefusal {
    return httpRefusal(refusal, this.#random, this.#rateLimit !== 'never')
  }

  /**
   * The fields that the response to an admitted request, of this status, reports about its budgets now; undefined for
   * most. With `'near'`, a redirect reports nothing: clients may wait before they follow it.
   */
  fields(permit: Permit, status: number = 200): Fields | undefined {
    const when = this.#rateLimit
    if (when === 'never' || status < 200) return undefined
    if (when === 'near' && status >= 300 && status < 400 && status !== 304) return undefined
    try {
      return rateLimitFields(permit.quotas(), when)
    } catch (error) {
      this.warn('The quota of a stage failed: responses do not report it.', error)
      return undefined
    }
  }

  /** Notes that a request is named by its address, as the framework reports it. */
  protected namedByAddress(_target: Target): void {
    this.#mistakes.asked()
  }

  /** @internal Judges a response that has ended. */
  outcome(visit: HttpVisit<Target>): Outcome {
    const { target, error, isGone } = visit
    const { outcome } = this.#options
    const status = this.#framework.status(...target)
    // Until a handler sets it, the status is the framework's default: only a shortage is certain.
    if (isGone) return outcome === undefined && outcomeOf(status, error) === 'failure' ? 'failure' : 'ignored'
    this.#mistakes.answered(status)
    if (visit.hasAddress !== undefined) this.#addresses.answered(visit.hasAddress)
    if (outcome !== undefined) {
      try {
        const answer = outcome(...target, error)
        requireOneOf('outcome', answer, outcomes)
        return answer
      } catch (cause) {
        this.warn('outcome failed: the default answered instead.', cause)
      }
    }
    return outcomeOf(status, error)
  }

  // Closures have methods of their own: what they capture is allocated at each call of the method that makes them.

  #judgeLater(
    visit: HttpVisit<Target>,
    route: Route<Target>,
    skip: PromiseLike<boolean | undefined>,
  ): Promise<GateAnswer> {
    return this.#later(visit, skip, (known) => this.#judge(visit, route, known))
  }

  #judge(visit: HttpVisit<Target>, route: Route<Target>, skip: boolean | undefined): GateAnswer | Promise<GateAnswer> {
    const { target } = visit
    const { flow, cost } = this.#options
    if (yes('skip', skip)) return undefined
    const name = settingOf(route?.flow, flow, target)
    let price: NowOrLater<number | undefined>
    try {
      price = settingOf(route?.cost, cost, target)
    } catch (error) {
      price = Promise.reject(error)
    }
    return isLater(name) || isLater(price)
      ? this.#admitLater(visit, route, name, price)
      : this.#admit(visit, route, name, price)
  }

  #admitLater(
    visit: HttpVisit<Target>,
    route: Route<Target>,
    name: NowOrLater<GivenFlow>,
    price: NowOrLater<number | undefined>,
  ): Promise<GateAnswer> {
    const known = Promise.all([name, price]).then(
      ([flow, cost]) =>
        () =>
          this.#admit(visit, route, flow, cost),
      (error: unknown) =>
        // If only the cost failed, the name still counts.
        Promise.resolve(name).then(
          (flow) => () => this.#withoutOptions(visit, error, pathOf(flow)),
          () => () => this.#withoutOptions(visit, error),
        ),
    )
    return this.#later(visit, known, (goOn) => goOn())
  }

  #admit(
    visit: HttpVisit<Target>,
    route: Route<Target>,
    name: GivenFlow,
    cost: number | undefined,
  ): GateAnswer | Promise<GateAnswer> {
    const { target } = visit
    const { resource, priority, exempt } = this.#options
    let path: Flow | undefined
    try {
      path = pathOf(name)
      if (path !== undefined) this.#mistakes.named(firstOf(path), target)
      return this.gate.admit({
        flow: this.#flowOf(visit, path),
        cost: cost ?? 1,
        resource: heard(settingOf(route?.resource, resource, target)) || undefined,
        priority: heard(settingOf(route?.priority, priority, target)) ?? 0,
        exempt: yes('exempt', exempt?.(...target)),
        signal: () => visit.signal,
        target,
      })
    } catch (error) {
      return this.#withoutOptions(visit, error, path)
    }
  }

  /** Continues when an option's promise is fulfilled. A client that has left by then is not judged. */
  #later<T>(
    visit: HttpVisit<Target>,
    promise: PromiseLike<T>,
    goOn: (answer: T) => GateAnswer | Promise<GateAnswer>,
  ): Promise<GateAnswer> {
    return this.#unlessOver(visit, promise)
      .then((answer) => (answer === OVER || visit.isGone ? this.#over(visit) : goOn(answer)))
      .catch((error: unknown) => this.#withoutOptions(visit, error))
  }

  /**
   * The value of an option's promise, or {@link OVER} once the client has left or the gate is closed. The promise may
   * never settle.
   */
  #unlessOver<T>(visit: HttpVisit<Target>, promise: PromiseLike<T>): Promise<T | typeof OVER> {
    return new Promise((resolve, reject) => {
      let counted: (() => void) | undefined
      const over = (): void => {
        counted?.()
        resolve(OVER)
      }
      counted = this.gate.expect?.(over)
      visit.onGone = over
      Promise.resolve(promise).finally(counted).then(resolve, reject)
    })
  }

  /** The gate's answer to a request that it no longer judges. Its address may be unknown. */
  #over(visit: HttpVisit<Target>): Decision | Promise<Decision> {
    return this.gate.admit({ flow: UNKNOWN_ADDRESS, signal: visit.signal })
  }

  #flowOf(visit: HttpVisit<Target>, path: Flow | undefined): Flow {
    if (path !== undefined) return namedFlow(path)
    const { target } = visit
    const { address } = this.#options
    if (address === undefined) this.namedByAddress(target)
    const told = address === undefined ? this.#framework.address(...target) : heard(address(...target))
    visit.hasAddress = told !== undefined
    return this.#addresses.flow(told)
  }

  /** The answer to a request for which a user's function failed; `path` is its name, if it has one. */
  #withoutOptions(visit: HttpVisit<Target>, cause: unknown, path?: Flow): GateAnswer | Promise<GateAnswer> {
    this.warn(`An option failed: onError, '${this.#onError}', decides.`, cause)
    if (this.#onError === 'admit') return undefined
    if (this.#onError === 'refuse') return OPTION_FAILED
    let flow: Flow = UNKNOWN_ADDRESS
    try {
      flow = this.#flowOf(visit, path)
    } catch {
      // A user's function in the framework (which proxies to trust) may have failed, too.
    }
    return this.gate.admit({ flow, signal: () => visit.signal, target: visit.target })
  }
}

/** The name that the option `flow` gave, checked; undefined if it gave none. */
function pathOf(name: GivenFlow): Flow | undefined {
  return name == null || name === '' ? undefined : requireFlow(name)
}

/** The value of an option that must be a boolean or undefined. Without the check a promise would count as true. */
function yes(name: string, answer: unknown): boolean {
  if (answer === undefined) return false
  requireBoolean(name, answer)
  return answer === true
}
