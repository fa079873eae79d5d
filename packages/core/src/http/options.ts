import type { Gate } from '../admission/gate.js'
import type { Mechanism } from '../admission/mechanism.js'
import type { Outcome } from '../admission/outcome.js'
import { createGate, GATE_OPTIONS, type GateOptions } from '../create-gate.js'
import {
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
import type { OnWarning } from './mistakes.js'
import type { HttpRefusal } from './refusal.js'

/**
 * What to do with a request if `flow`, `cost`, `resource`, `priority`, `exempt` or `skip` throws or gives what it may not:
 * judge it at cost 1, by its client's address unless `flow` has named it, let it pass unjudged and uncounted, or refuse it
 * with 503.
 */
export type OnError = 'address' | 'admit' | 'refuse'

/** When a response tells what is left of a budget: near its exhaustion, always, or never. */
export type TellRateLimit = 'near' | 'always' | 'never'

type NowOrLater<T> = T | Promise<T>

/**
 * Options that all adapters share: what a request is, and how it is answered. Functions get what a handler of the
 * framework gets (`target`: Express `(req, res)`, Koa `(ctx)`, Hono `(c)`, Nest `(context)`), and may throw: see
 * `onError`. `flow`, `cost` and `skip` may give a promise: the request waits for it, outside of every line, so it should be
 * quick. The others must answer at once.
 */
export interface RequestOptions<Target extends readonly unknown[]> {
  /** A gate of your own, perhaps shared with other middleware; then the options of a gate have no place here. */
  gate?: Gate
  /**
   * What we are fair between: a tenant, an API key; or a path of up to four names, `['account', 'key']`, none of them
   * empty: the queue is then fair between accounts, and between the keys of each. Nothing or `''` means the address.
   * @default the address
   */
  flow?: (...target: Target) => NowOrLater<Flow | null | undefined>
  /** What the request will cost, above 0. @default 1 */
  cost?: (...target: Target) => NowOrLater<number | undefined>
  /**
   * What the request will use, where that may be short while the rest is not: a backend, a part of the service. FAIR
   * measures each on its own, up to 32. Nothing or `''` means what all use. Name them by your routes, not by what
   * clients send. @default one for all
   */
  resource?: (...target: Target) => string | undefined
  /** A whole number from -2 (give it up first) to 2 (give it up last). @default 0 */
  priority?: (...target: Target) => number | undefined
  /** True for what is never refused for load, but counted: health checks that others must see succeed. */
  exempt?: (...target: Target) => boolean | undefined
  /** True for what the gate should not see at all. */
  skip?: (...target: Target) => NowOrLater<boolean | undefined>
  /**
   * The client's address, where the framework does not know it: from a header that a proxy of yours sets, say. It names
   * the flow where `flow` does not, folded and cut like the framework's own. @default what the framework says
   */
  address?: (...target: Target) => string | undefined
  /**
   * What a response that was sent to its end says about shortage; `error` is what the handler threw, where it is
   * known. Not asked about clients that left: that is always `ignored`. If it throws, the default answers. A `failure`
   * of a request that a gate further in has judged is that gate's, and `ignored` here.
   *
   * @default 429 and 503 `failure`, below 500 `success`, else `ignored`
   */
  outcome?: (...args: [...target: Target, error: unknown]) => Outcome
  /**
   * Answers a refused request, instead of the problem document, in the framework's own way: writes the response, or
   * returns it where handlers of the framework do. Status and headers are set already. If it throws, the document is
   * sent after all.
   */
  handler?: (...args: [...target: Target, refusal: HttpRefusal]) => unknown
  /** @default 'address' */
  onError?: OnError
  /**
   * When the `RateLimit` fields tell a client what is left of its budgets: when little is, on each response, or never.
   * Refusals by a budget always tell it, except with `'never'`. Without a budget there is nothing to tell. @default 'near'
   */
  rateLimit?: TellRateLimit
  /** Hears, once each, what is wrong with these options or the addresses. @default console.warn */
  onWarning?: OnWarning
  /**
   * Longest that a client may let a request wait without sending a byte of its body or reading one of the answer, in
   * milliseconds, at least 1000. Then it is cut off. On Node only. @default 30 000
   */
  clientTimeoutMs?: number
  /**
   * Longest that a body may take, in milliseconds, while others wait in the queue and its flow has more than its fair
   * share of what runs. Then it is cut off, with 408; `Infinity`: never. On Node only. @default 1000
   */
  slowBodyMs?: number
  /** Bits of an IPv6 address that make a flow, from 1 to 128. One client often holds a /56. @default 56 */
  ipv6Prefix?: number
}

/** Everything an adapter may be told: about requests, and about the gate that it makes. */
export type HttpOptions<Target extends readonly unknown[]> = RequestOptions<Target> & GateOptions<Target>

const ON_ERROR: readonly OnError[] = ['address', 'admit', 'refuse']
const RATE_LIMIT: readonly TellRateLimit[] = ['near', 'always', 'never']

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
  onError: (name, value) => requireOneOf(name, value, ON_ERROR),
  rateLimit: (name, value) => requireOneOf(name, value, RATE_LIMIT),
  ipv6Prefix: (name, value) => requireInteger(name, value, 1, 128),
  clientTimeoutMs: (name, value) => requireNumber(name, value, 1_000),
  slowBodyMs: (name, value) => value === Number.POSITIVE_INFINITY || requireNumber(name, value, 0),
  gate: requireGate,
}
const KNOWN: readonly string[] = [...Object.keys(CHECKS), ...GATE_OPTIONS]

/**
 * Checks all options of an adapter, once. Throws a `TypeError` or `RangeError` that names the option and its value.
 * `name` is what the user called, for the message about options that do not exist.
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

function requireGate(name: string, value: unknown): void {
  if (typeof (value as Partial<Gate> | null)?.admit !== 'function') fail(name, 'made by createGate', value)
}

/**
 * The gate that valid options ask for: the user's own, or a new one with FAIR and, unless they say otherwise, the
 * shedding that `shed()` gives, which is called only then, with true where requests will wait in a queue.
 */
export function gateOf<Target extends readonly unknown[]>(
  options: HttpOptions<Target>,
  shed: (queued: boolean) => Mechanism<'shed'> | false,
): Gate {
  if (options.gate !== undefined) return options.gate
  const gateOptions: Record<string, unknown> = {}
  for (const key of GATE_OPTIONS) gateOptions[key] = options[key as keyof GateOptions]
  if (options.shed === undefined) gateOptions['shed'] = shed(typeof options.queue === 'object')
  return createGate(gateOptions)
}

type Option<Target extends readonly unknown[], Name extends keyof RequestOptions<Target>> = NonNullable<
  RequestOptions<Target>[Name]
>

/** What can be said of a route where it is declared. Functions are as the options of the same name. */
export interface RouteSettings<Target extends readonly unknown[]> {
  /** What a request will cost, above 0. */
  readonly cost?: number | Option<Target, 'cost'>
  /** What we are fair between here: one flow for all, or a function that names it. */
  readonly flow?: Flow | Option<Target, 'flow'>
  /** What a request will use, where that may be short while the rest of the service is not. */
  readonly resource?: string | Option<Target, 'resource'>
  /** A whole number from -2 (give it up first) to 2 (give it up last). */
  readonly priority?: number | Option<Target, 'priority'>
}

/** Checks them. Throws a `TypeError` or `RangeError` that names what is wrong and its value; `name` is their owner, for messages. */
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

type PerRequest<Target extends readonly unknown[]> = Required<
  Pick<RequestOptions<Target>, 'cost' | 'flow' | 'priority' | 'resource' | 'skip'>
>

/** The options that a route can set: what it says (`skip`: the gate does not see it), or else what `options` do. */
export function withRouteSettings<Target extends readonly unknown[]>(
  options: RequestOptions<Target>,
  settingsOf: (...target: Target) => RouteSettings<Target> & { readonly skip: boolean },
): PerRequest<Target> {
  const { cost, flow, priority, resource, skip } = options
  return {
    cost: (...target) => settingOf(settingsOf(...target).cost, target) ?? cost?.(...target),
    flow: (...target) => settingOf(settingsOf(...target).flow, target) ?? flow?.(...target),
    priority: (...target) => settingOf(settingsOf(...target).priority, target) ?? priority?.(...target),
    resource: (...target) => settingOf(settingsOf(...target).resource, target) ?? resource?.(...target),
    skip: (...target) => settingsOf(...target).skip || skip?.(...target),
  }
}

function settingOf<Target extends readonly unknown[], Given extends number | Flow, Answer>(
  setting: Given | ((...target: Target) => Answer) | undefined,
  target: Target,
): Given | Answer | undefined {
  return typeof setting === 'function' ? setting(...target) : setting
}
