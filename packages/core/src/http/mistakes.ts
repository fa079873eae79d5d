import { show } from '../options.js'
import { heard } from '../rejection.js'
import { isWorkerd } from './context.js'
import type { Framework } from './http-admission.js'

/** Requests whose names are checked, and answers that show whether the middleware stands before the routes. */
const NAMES_SEEN = 1_000
const ANSWERS_SEEN = 20
/** Requests named by address whose headers are checked. */
const HEADERS_SEEN = 1_000
/** Consecutive requests that were the first of a middleware made in the same microtask. */
const MADE_PER_REQUEST = 10

/** Headers in which proxies and CDNs put the client's address. */
const FORWARDED = [
  'x-forwarded-for',
  'forwarded',
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'x-client-ip',
]

/** The advice for a framework without a setting for it. */
const TRUSTS_NONE =
  'Name the client by the option address, from the header that your proxy sets, or set the option flow.'

/** Consecutive requests in this process that reached a middleware just made. */
let madePerRequest = 0

/**
 * Detects the common mistakes with limiters, and warns of each once, in plain words. Costs some nanoseconds per
 * request, most of it for the first thousand only.
 */
export class Mistakes<Target extends readonly unknown[]> {
  readonly #framework: Framework<Target>
  readonly #warn: OnWarning
  /** True until the end of the microtask in which the middleware was made. */
  #isBeingMade: boolean
  #answersLeft = ANSWERS_SEEN
  #namesLeft = NAMES_SEEN
  #name: string | undefined
  #address: string | undefined
  #addressesDiffer = false

  constructor(framework: Framework<Target>, warn: OnWarning, makesGate: boolean) {
    this.#framework = framework
    this.#warn = warn
    this.#isBeingMade = makesGate
    if (makesGate)
      Promise.resolve().then(() => {
        this.#isBeingMade = false
      })
  }

  passedTwice(): void {
    this.#warn(
      `A request has passed the same gate twice: remove the inner ${this.#framework.name}, or give it its own gate.`,
    )
  }

  /** Notes that the option `flow` has named a request. */
  named(name: string, target: Target): void {
    this.asked()
    if (this.#namesLeft === 0) return
    this.#name ??= name
    if (name !== this.#name) {
      this.#namesLeft = 0
      return
    }
    if (!this.#addressesDiffer) {
      try {
        const address = this.#framework.address(...target)
        this.#address ??= address
        this.#addressesDiffer = address !== this.#address
      } catch {
        // A user's function that says which proxies to trust may fail.
      }
    }
    if (--this.#namesLeft > 0 || !this.#addressesDiffer) return
    this.#warn(
      `The option flow gave the first ${NAMES_SEEN} requests, from several addresses, the same name, ${show(name)}: ` +
        'let it name the tenant or the API key.',
    )
  }

  /** Notes that a request was answered to its end. */
  answered(status: number | undefined): void {
    if (this.#answersLeft === 0) return
    if (status !== 404) this.#answersLeft = 0
    else if (--this.#answersLeft === 0)
      this.#warn(
        `The first ${ANSWERS_SEEN} requests that ${this.#framework.name} judged were all answered 404. Put it before ` +
          'the routes.',
      )
  }

  stageFailed(stage: string, error: unknown): void {
    // On Workers a stage may touch an object of another request, which throws: not the user's mistake.
    if (isWorkerd) return
    this.#warn(`The stage ${stage} failed: its onError decides. gate.observe() reports later ones.`, error)
  }

  /** Notes that a request has reached the middleware. */
  asked(): void {
    if (!this.#isBeingMade) {
      madePerRequest = 0
      return
    }
    this.#isBeingMade = false
    if (++madePerRequest === MADE_PER_REQUEST)
      this.#warn(
        `${this.#framework.name} was called again for each of the last ${MADE_PER_REQUEST} requests. Call it once: a ` +
          'new gate limits nothing.',
      )
  }
}

/**
 * Detects the headers of a proxy before a service that trusts none. Only on Node's servers: other hosts provide no
 * headers.
 */
export class ForwardedHeaders<Target extends readonly unknown[]> {
  readonly #framework: Framework<Target>
  #left = HEADERS_SEEN

  constructor(framework: Framework<Target>) {
    this.#framework = framework
  }

  /** The warning for a request that is named by its address, as the framework reports it; undefined for most. */
  problemOf(target: Target): string | undefined {
    if (this.#left === 0) return undefined
    this.#left--
    const headers = this.#framework.untrustedHeaders?.(...target)
    const name = headers && FORWARDED.find((each) => headers[each] !== undefined)
    if (name === undefined) return undefined
    this.#left = 0
    return (
      `A request carries the header ${name}, and no proxy is trusted: if a proxy of yours sets it, all clients are ` +
      `one flow, named by the proxy's address. ${this.#framework.trust ?? TRUSTS_NONE} If no proxy stands before the service, a ` +
      'client has made it up, and all is well.'
    )
  }
}

/** Receives an adapter's warnings. `cause` is the error behind one, if any. */
export type OnWarning = (message: string, cause?: unknown) => void

const MOST = 20

/** Writes to the console, if there is one: the default of the option `onWarning`. */
export const consoleWarning: OnWarning = (message, cause) => {
  // biome-ignore lint/suspicious/noConsole: the declared place for what nobody else can be told
  globalThis.console?.warn(message, ...(cause === undefined ? [] : [cause]))
}

/**
 * Passes each warning on once, and at most 20 in all: a warning on every request is an outage in itself. A listener
 * that throws has no effect.
 */
export function warnOnce(listener: OnWarning): OnWarning {
  const said = new Set<string>()
  return (message, cause) => {
    if (said.size >= MOST || said.has(message)) return
    said.add(message)
    try {
      heard(listener(message, cause))
    } catch {
      // There is no further listener to tell.
    }
  }
}
