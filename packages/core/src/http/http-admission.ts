import type { Decision, Permit } from '../admission/decision.js'
import type { Gate } from '../admission/gate.js'
import type { Mechanism } from '../admission/mechanism.js'
import { type Outcome, outcomes } from '../admission/outcome.js'
import type { Refusal } from '../admission/refusal.js'
import { requireBoolean, requireFunction, requireOneOf } from '../options.js'
import { type Flow, firstOf, namedFlow, requireFlow } from '../path.js'
import { coinRandom, type Random } from '../random.js'
import { isLater, onRejection } from '../rejection.js'
import { AddressFlows, UNKNOWN_ADDRESS } from './address-flow.js'
import { type FairRequest, HttpVisit, type Judge } from './http-visit.js'
import { consoleWarning, Mistakes, Warnings } from './mistakes.js'
import { gateOf, type HttpOptions, type OnError, requireHttpOptions, type TellRateLimit } from './options.js'
import { outcomeOf } from './outcome.js'
import { type Fields, rateLimitFields } from './rate-limit-fields.js'
import { type HttpRefusal, httpRefusal, OPTION_FAILED } from './refusal.js'

/** All that the core needs to know of a framework; `target` is what its handlers get. */
export interface Framework<Target extends readonly unknown[]> {
  /** What the user calls, for messages: `fairMiddleware`. */
  readonly name: string
  /** The address of the client, as far as the framework trusts what it was told. */
  address(...target: Target): string | undefined
  /** The status that the response was sent with; undefined where there is none. */
  status(...target: Target): number | undefined
  /** Load shedding, if the user does not say; `queued`: requests wait in a queue. */
  shed(queued: boolean): Mechanism<'shed'> | false
  /**
   * The request's headers, in lower case, if the framework was not told to trust those that proxies set; undefined if
   * it was. `trust` says how it is told, for messages; undefined where it has no setting for that.
   */
  untrustedHeaders?(...target: Target): Readonly<Record<string, unknown>> | undefined
  readonly trust?: string
}

type NowOrLater<T> = T | Promise<T>
/** What the option `flow` gives. */
type GivenFlow = Flow | null | undefined

/** Stands for what an option will not be asked for any more. */
const OVER = Symbol('over')

/** The gate's answer to a request; undefined if the request is none of its business. */
export type Answer = Decision | undefined

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
  readonly #mistakes: Mistakes<Target>
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
    this.#mistakes = new Mistakes(framework, this.#warnings, options.gate === undefined)
    this.#addresses = new AddressFlows(ipv6Prefix, this.#warnings)
    this.gate = gateOf(options, (queued) => framework.shed(queued))
    this.gate.observe?.((event) => {
      if (event.type === 'error') this.#mistakes.stageFailed(event.stage, event.error)
    }, 'error')
  }

  /** Begins a visit. `outer` is the visit to a gate that the request passed before. */
  visit(target: Target, outer: FairRequest | undefined): HttpVisit<Target> {
    return new HttpVisit(this, target, outer)
  }

  /**
   * Asks the gate. Undefined: the request is none of our business (`skip`, or this gate has judged it before), let it
   * pass. If the client has left already, the answer is a refusal with reason `gone`. Never rejects.
   */
  ask(visit: HttpVisit<Target>): Answer | Promise<Answer> {
    const answer = this.#ask(visit)
    const { outer } = visit
    if (outer === undefined || answer === undefined) return answer
    const told = (decision: Answer): Answer => {
      if (decision !== undefined && (!decision.admitted || this.gate.hasFair)) outer.judgedInside()
      return decision
    }
    return answer instanceof Promise ? answer.then(told) : told(answer)
  }

  #ask(visit: HttpVisit<Target>): Answer | Promise<Answer> {
    const { target } = visit
    // Nothing can be known of a client that has left; the gate only counts it.
    if (visit.isGone) return this.#over(visit)
    if (visit.passed(this.gate)) {
      this.#mistakes.passedTwice()
      return undefined
    }
    try {
      const skip = this.#options.skip?.(...target)
      return isLater(skip) ? this.#later(visit, skip, (known) => this.#judge(visit, known)) : this.#judge(visit, skip)
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

  /** A request is named by its address, as the framework tells it. */
  protected namedByAddress(_target: Target): void {
    this.#mistakes.namedByAddress()
  }

  /** What to tell the user once, and never again. */
  warn(message: string, cause?: unknown): void {
    this.#warnings.say(message, cause)
  }

  /** @internal Judges a response that was sent to its end. */
  outcome(visit: HttpVisit<Target>): Outcome {
    const { target, error } = visit
    const { outcome } = this.#options
    const status = this.#framework.status(...target)
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

  #judge(visit: HttpVisit<Target>, skip: boolean | undefined): Answer | Promise<Answer> {
    const { target } = visit
    const { flow, cost } = this.#options
    if (yes('skip', skip)) return undefined
    const name = flow?.(...target)
    let price: NowOrLater<number | undefined>
    try {
      price = cost?.(...target)
    } catch (error) {
      price = Promise.reject(error)
    }
    if (!isLater(name) && !isLater(price)) return this.#admit(visit, name, price)
    const known = Promise.all([name, price]).then(
      ([flow, cost]) =>
        () =>
          this.#admit(visit, flow, cost),
      (error: unknown) =>
        // If it was the cost that failed, the name still counts.
        Promise.resolve(name).then(
          (flow) => () => this.#withoutOptions(visit, error, pathOf(flow)),
          () => () => this.#withoutOptions(visit, error),
        ),
    )
    return this.#later(visit, known, (goOn) => goOn())
  }

  #admit(visit: HttpVisit<Target>, name: GivenFlow, cost: number | undefined): Answer | Promise<Answer> {
    const { target } = visit
    const { resource, priority, exempt } = this.#options
    let path: Flow | undefined
    try {
      path = pathOf(name)
      if (path !== undefined) this.#mistakes.named(firstOf(path), target)
      return this.gate.admit({
        flow: this.#flowOf(visit, path),
        cost: cost ?? 1,
        resource: (resource !== undefined && now(resource(...target))) || undefined,
        priority: priority === undefined ? 0 : (now(priority(...target)) ?? 0),
        exempt: exempt !== undefined && yes('exempt', exempt(...target)),
        signal: () => visit.signal,
        target,
      })
    } catch (error) {
      return this.#withoutOptions(visit, error, path)
    }
  }

  /** Goes on when an option's promise is kept. A client that has left by then is not judged. */
  #later<T>(
    visit: HttpVisit<Target>,
    promise: PromiseLike<T>,
    goOn: (answer: T) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    return this.#unlessOver(visit, promise)
      .then((answer) => (answer === OVER || visit.isGone ? this.#over(visit) : goOn(answer)))
      .catch((error: unknown) => this.#withoutOptions(visit, error))
  }

  /** What an option promises; {@link OVER} once the client has left or the gate is closed. It may never be kept. */
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

  /** The gate's answer to a request that it does not judge any more. Not even its address need be known. */
  #over(visit: HttpVisit<Target>): Decision | Promise<Decision> {
    return this.gate.admit({ flow: UNKNOWN_ADDRESS, signal: visit.signal })
  }

  #flowOf(visit: HttpVisit<Target>, path: Flow | undefined): Flow {
    if (path !== undefined) return namedFlow(path)
    const { target } = visit
    const { address } = this.#options
    if (address === undefined) this.namedByAddress(target)
    const told = address === undefined ? this.#framework.address(...target) : now(address(...target))
    visit.hasAddress = told !== undefined
    return this.#addresses.flow(told)
  }

  /** The answer to a request about which the user's functions failed; `path` is its name, if it has one. */
  #withoutOptions(visit: HttpVisit<Target>, cause: unknown, path?: Flow): Answer | Promise<Answer> {
    this.warn(`An option failed: onError, '${this.#onError}', decides.`, cause)
    if (this.#onError === 'admit') return undefined
    if (this.#onError === 'refuse') return OPTION_FAILED
    let flow: Flow = UNKNOWN_ADDRESS
    try {
      flow = this.#flowOf(visit, path)
    } catch {
      // The user's own functions may have failed the framework, too (which proxies to trust).
    }
    return this.gate.admit({ flow, signal: () => visit.signal, target: visit.target })
  }
}

/** The name that the option `flow` gave, checked; undefined if it gave none. */
function pathOf(name: GivenFlow): Flow | undefined {
  return name == null || name === '' ? undefined : requireFlow(name)
}

/** The answer of a user's function that must come at once. A promise must not end the process when it rejects. */
function now<T>(answer: T): T {
  onRejection(answer, () => {})
  return answer
}

/** An answer that has to be true or false, or nothing. A promise would otherwise always count as yes. */
function yes(name: string, answer: unknown): boolean {
  if (answer === undefined) return false
  requireBoolean(name, answer)
  return answer === true
}
