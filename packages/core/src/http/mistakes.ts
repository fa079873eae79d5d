import { show } from '../options.js'
import { onRejection } from '../rejection.js'
import type { Framework } from './http-admission.js'

/** Requests whose names, and answers that say where the middleware stands, are looked at. */
const NAMES_SEEN = 1_000
const ANSWERS_SEEN = 20
/** Requests by address whose headers are looked at. */
const HEADERS_SEEN = 1_000
/** Middleware one after the other that was called in the moment in which it was made. */
const MADE_PER_REQUEST = 10

/** What proxies and networks of delivery put the client's address into. */
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

/** What to do where the framework has no setting for it. */
const TRUSTS_NONE =
  'Name the client by the option address, from the header that your proxy sets, or set the option flow.'

/** Middleware in a row that was asked while it was made, in this process. */
let madePerRequest = 0

/**
 * What users get wrong with any limiter, told once each, in plain words. Costs some nanoseconds per request, most of it
 * for the first thousand only.
 */
export class Mistakes<Target extends readonly unknown[]> {
  readonly #framework: Framework<Target>
  readonly #warnings: Warnings
  /** Whether this is the very moment in which the middleware was made. */
  #isBeingMade: boolean
  #answersLeft = ANSWERS_SEEN
  #namesLeft = NAMES_SEEN
  #name: string | undefined = undefined
  #address: string | undefined = undefined
  #addressesDiffer = false

  constructor(framework: Framework<Target>, warnings: Warnings, makesGate: boolean) {
    this.#framework = framework
    this.#warnings = warnings
    this.#isBeingMade = makesGate
    if (makesGate)
      Promise.resolve().then(() => {
        this.#isBeingMade = false
      })
  }

  passedTwice(): void {
    this.#warnings.say(
      `A request has passed the same gate twice: ${this.#framework.name} stands in two places, or two share one gate. ` +
        'Remove the inner one, or give it a gate of its own.',
    )
  }

  /** The option `flow` has named a request. */
  named(name: string, target: Target): void {
    this.#asked()
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
        // The user's own function may say which proxies to trust.
      }
    }
    if (--this.#namesLeft > 0 || !this.#addressesDiffer) return
    this.#warnings.say(
      `The option flow gave the first ${NAMES_SEEN} requests, from several addresses, the same name, ${show(name)}. ` +
        'Let it name the tenant, the user or the API key.',
    )
  }

  /** A request is named by its address. */
  namedByAddress(): void {
    this.#asked()
  }

  /** A request was answered to its end. */
  answered(status: number | undefined): void {
    if (this.#answersLeft === 0) return
    if (status !== 404) this.#answersLeft = 0
    else if (--this.#answersLeft === 0)
      this.#warnings.say(
        `The first ${ANSWERS_SEEN} requests that ${this.#framework.name} judged were all answered 404. Put it before ` +
          'the routes.',
      )
  }

  stageFailed(stage: string, error: unknown): void {
    // There a stage may meet what belongs to another request, which nobody may touch: no mistake of the user's.
    const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } }
    if (navigator?.userAgent === 'Cloudflare-Workers') return
    this.#warnings.say(`The stage ${stage} failed: its onError decides. gate.observe() hears of later ones.`, error)
  }

  #asked(): void {
    if (!this.#isBeingMade) {
      madePerRequest = 0
      return
    }
    this.#isBeingMade = false
    if (++madePerRequest === MADE_PER_REQUEST)
      this.#warnings.say(
        `${this.#framework.name} was called anew for each of the last ${MADE_PER_REQUEST} requests. Call it once: a ` +
          'new gate limits nothing.',
      )
  }
}

/** Headers that tell of a proxy before a service that trusts none. For servers of Node: elsewhere none are handed over. */
export class ForwardedHeaders<Target extends readonly unknown[]> {
  readonly #framework: Framework<Target>
  #left = HEADERS_SEEN

  constructor(framework: Framework<Target>) {
    this.#framework = framework
  }

  /** What is wrong with a request that is named by its address, as the framework tells it; undefined for most. */
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

/** Where an adapter says what it could not say to anybody else. `cause` is the error behind it, where there is one. */
export type OnWarning = (message: string, cause?: unknown) => void

const MOST = 20

/** The console, where there is one: the default of the option `onWarning`. */
export const consoleWarning: OnWarning = (message, cause) => {
  // biome-ignore lint/suspicious/noConsole: the declared place for what nobody else can be told
  globalThis.console?.warn(message, ...(cause === undefined ? [] : [cause]))
}

/**
 * Says each thing once, and at most 20 things: a warning that comes with every request is an outage of its own.
 * A listener that throws harms nothing.
 */
export class Warnings {
  readonly #listener: OnWarning
  readonly #said = new Set<string>()

  constructor(listener: OnWarning) {
    this.#listener = listener
  }

  say(message: string, cause?: unknown): void {
    if (this.#said.size >= MOST || this.#said.has(message)) return
    this.#said.add(message)
    try {
      onRejection(this.#listener(message, cause), () => {})
    } catch {
      // Nobody is left to tell.
    }
  }
}
