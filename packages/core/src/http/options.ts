import type { Gate } from '../admission/gate.js'
import type { Outcome } from '../admission/outcome.js'
import { GATE_OPTIONS, type GateOptions, gateFrom } from '../create-gate.js'
import {
  by,
  type Check,
  fail,
  requireAbove,
  requireFunction,
  requireGiven,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
} from '../options.js'
import { type Flow, requireFlow } from '../path.js'
import type { NowOrLater } from '../rejection.js'
import type { Framework } from './http-admission.js'
import type { OnWarning } from './mistakes.js'
import type { HttpRefusal } from './refusal.js'

/**
 * Decides about a request if `flow`, `cost`, `resource`, `priority`, `exempt` or `skip` throws or returns an invalid
 * value: judge it at cost 1, by its client's address unless `flow` has named it; let it pass unjudged and uncounted; or
 * refuse it with 503.
 */
export type OnError = 'address' | 'admit' | 'refuse'

/** When a response reports the rest of a budget: near its exhaustion, always, or never. */
export type TellRateLimit = 'near' | 'always' | 'never'

/**
 * Options that all adapters share: how a request is described and answered. Functions receive the arguments of a
 * handler of the framework (`target`: Express `(req, res)`, Koa `(ctx)`, Hono `(c)`, Nest `(context)`), and may throw:
 * see `onError`. `flow`, `cost` and `skip` may return a promise: the request waits for it before it enters any queue,
 * so it should be quick. The others must answer synchronously.
 */
export interface RequestOptions<Target extends readonly unknown[]> {
  /** A gate of your own, perhaps shared with other middleware. It excludes the options of a gate. */
  gate?: Gate
  /**
   * The unit of fairness: a tenant, an API key; or a path of up to four names, `['account', 'key']`, none of them
   * empty: the queue is then fair between accounts, and between the keys of each. `undefined`, `null` and `''` mean the
   * address.
   * @default the address
   */
  flow?: (...target: Target) => NowOrLater<Flow | null | undefined>
  /** The expected cost of the request, above 0. @default 1 */
  cost?: (...target: Target) => NowOrLater<number | undefined>
  /**
   * The resource that the request will use, if it can be exhausted while the rest is not: a backend, a part of the
   * service. FAIR measures each separately, up to 32. `undefined` and `''` mean the resource that all share. Derive
   * names from your routes, not from client input. @default one for all
   */
  resource?: (...target: Target) => string | undefined
  /** A whole number from -2 (give it up first) to 2 (give it up last). @default 0 */
  priority?: (...target: Target) => number | undefined
  /** True for requests that are never refused for load, but counted: health checks that must succeed. */
  exempt?: (...target: Target) => boolean | undefined
  /** True for requests that bypass the gate altogether. */
  skip?: (...target: Target) => NowOrLater<boolean | undefined>
  /**
   * The client's address, if the framework does not know it: from a header that your proxy sets, for example. It names
   * the flow when `flow` does not, normalised and cut like the framework's own. @default the framework's address
   */
  address?: (...target: Target) => string | undefined
  /**
   * Judges a response that was sent to its end; `error` is the error that the handler threw, if known. Not called for
   * clients that left: their outcome is always `ignored`. If it throws, the default applies. A `failure` of a request
   * that an inner gate has judged counts there, and is `ignored` here.
   *
   * @default 429 and 503 `failure`, below 500 `success`, else `ignored`
   */
  outcome?: (...args: [...target: Target, error: unknown]) => Outcome
  /**
   * Answers a refused request in the framework's own way, instead of the problem document: writes the response, or
   * returns it where the framework's handlers do. Status and headers are already set. If it throws, the document is
   * sent instead.
   */
  handler?: (...args: [...target: Target, refusal: HttpRefusal]) => unknown
  /** @default 'address' */
  onError?: OnError
  /**
   * When the `RateLimit` fields report the rest of the client's budgets: when little is left, on each response, or
   * never. Refusals by a budget always report it, except with `'never'`. Without a budget or a quota there are no
   * fields.
   * @default 'near'
   */
  rateLimit?: TellRateLimit
  /** Receives each warning about these options or the addresses once. @default console.warn */
  onWarning?: OnWarning
  /**
   * Longest time for which a client may keep a request waiting without sending a byte of its body or reading a byte of
   * the answer, in milliseconds, at least 1000. Then it is cut off. On Node only. @default 30 000
   */
  clientTimeoutMs?: number
  /**
   * Longest time for sending a body, in milliseconds, while others wait in the queue and its flow holds more than its
   * fair share of the running requests. Then it is cut off, with 408; `Infinity`: never. On Node only. @default 1000
   */
  slowBodyMs?: number
  /** Bits of an IPv6 address that make a flow, from 1 to 128. One client often holds a /56. @default 56 */
  ipv6Prefix?: number
}

/** All options of an adapter: about requests, and about the gate that it makes. */
export type HttpOptions<Target extends readonly unknown[]> = RequestOptions<Target> & GateOptions<Target>

const CHECKS: Readonly<Record<keyof RequestOptions<[]>, Check>> = {
  flow: requireFunction,
  cost: requireFunction,
  resource: requireFunction,
  priority: requireFunction,
  exempt: requireFunction,
  skip: requireFunction,
  address: requireFunction,
  outcome: requireFunction,
  handler: requireFunction,
  onWarning: requireFunction,
  onError: by(requireOneOf, ['address', 'admit', 'refuse']),
  rateLimit: by(requireOneOf, ['near', 'always', 'never']),
  ipv6Prefix: by(requireInteger, 1, 128),
  clientTimeoutMs: by(requireNumber, 1_000),
  slowBodyMs: (name, value) => value === Number.POSITIVE_INFINITY || requireNumber(name, value, 0),
  gate: (name, gate) =>
    typeof (gate as Partial<Gate> | null)?.admit === 'function' || fail(name, 'made by createGate', gate),
}
const KNOWN: readonly string[] = [...Object.keys(CHECKS), ...GATE_OPTIONS]

/**
 * Checks all options of an adapter, once. Throws a `TypeError` or `RangeError` that names the option and its value.
 * `name` is the function that the user called, for the message about unknown options.
 */
export function requireHttpOptions<Target extends readonly unknown[]>(
  name: string,
  options: HttpOptions<Target>,
): void {
  requireOptions(name, options, KNOWN)
  requireGiven(CHECKS, options)
  if (options.gate === undefined) return
  // `random` serves the adapter too: it jitters Retry-After.
  for (const key of GATE_OPTIONS)
    if (key !== 'random' && options[key as keyof GateOptions] !== undefined)
      throw new TypeError(`${key} is an option of the gate: give it to createGate, or leave gate out`)
}

/**
 * The gate for valid options: the user's own, or a new one with FAIR and, unless they say otherwise, the framework's
 * shedding and time-out of permits.
 */
export function gateOf<Target extends readonly unknown[]>(
  options: HttpOptions<Target>,
  framework: Framework<Target>,
): Gate {
  if (options.gate !== undefined) return options.gate
  const { shed = framework.shed(typeof options.queue === 'object'), permitTimeoutMs = framework.permitTimeoutMs } =
    options
  return gateFrom({ ...options, shed, permitTimeoutMs } as GateOptions)
}

type Option<Target extends readonly unknown[], Name extends keyof RequestOptions<Target>> = NonNullable<
  RequestOptions<Target>[Name]
>

/** Settings of a route, where it is declared. Functions are like the options of the same name. */
export interface RouteSettings<Target extends readonly unknown[]> {
  /** The expected cost of a request, above 0. */
  readonly cost?: number | Option<Target, 'cost'>
  /** The unit of fairness on this route: one flow for all requests, or a function that names it. */
  readonly flow?: Flow | Option<Target, 'flow'>
  /** The resource that a request will use, if it can be exhausted while the rest of the service is not. */
  readonly resource?: string | Option<Target, 'resource'>
  /** A whole number from -2 (give it up first) to 2 (give it up last). */
  readonly priority?: number | Option<Target, 'priority'>
}

/**
 * Checks the settings of a route. Throws a `TypeError` or `RangeError` that names the invalid setting and its value;
 * `name` is their owner, for messages.
 */
export function requireRouteSettings<Target extends readonly unknown[]>(
  name: string,
  settings: RouteSettings<Target>,
): void {
  requireOptions(name, settings, ['cost', 'flow', 'priority', 'resource'])
  const { cost, flow, priority, resource } = settings
  if (cost !== undefined && typeof cost !== 'function') requireAbove('cost', cost, 0)
  if (flow !== undefined && typeof flow !== 'function') requireFlow(flow)
  if (resource !== undefined && typeof resource !== 'function') requireText('resource', resource)
  if (priority !== undefined && typeof priority !== 'function') requireInteger('priority', priority, -2, 2)
}

/** The settings of a route; `skip`: the gate does not see its requests. */
export type RouteOptions<Target extends readonly unknown[]> = RouteSettings<Target> & { readonly skip?: boolean }

/** A setting of a route, or else the option of the same name. */
export function settingOf<Target extends readonly unknown[], Given extends number | Flow, Answer>(
  setting: Given | ((...target: Target) => Answer) | undefined,
  option: ((...target: Target) => Answer) | undefined,
  target: Target,
): Given | Answer | undefined {
  return (typeof setting === 'function' ? setting(...target) : setting) ?? option?.(...target)
}
