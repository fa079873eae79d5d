import type { RequestOptions } from '@fairlead/core/http'
import { requireAbove, requireInteger, requireOptions, requireText } from '@fairlead/core/http'
import type { ExecutionContext } from '@nestjs/common'
import { Reflector } from '@nestjs/core'

/** What `@Fair` says of a controller or a handler. Functions are as the options of the same name. */
export interface FairSettings {
  /** What a request will cost, above 0. */
  readonly cost?: number | ((context: ExecutionContext) => number | undefined)
  /** What we are fair between here: one flow for all, or a function that names it. */
  readonly flow?: string | ((context: ExecutionContext) => string | undefined)
  /** What a request will use, where that may be short while the rest of the service is not. */
  readonly resource?: string | ((context: ExecutionContext) => string | undefined)
  /** A whole number from -2 (give it up first) to 2 (give it up last). */
  readonly priority?: number | ((context: ExecutionContext) => number | undefined)
}

/** Where the decorators write. */
export const FAIR_KEY = 'fairlead:fair'
export const SKIP_KEY = 'fairlead:skip'

/** Checks what is given to `@Fair`. Throws a `TypeError` or `RangeError` that names it and its value. */
export function requireSettings(settings: FairSettings): void {
  requireOptions('@Fair', settings, ['cost', 'flow', 'priority', 'resource'])
  const { cost, flow, priority, resource } = settings
  if (cost !== undefined && typeof cost !== 'function') requireAbove('cost', cost, 0)
  if (flow !== undefined && typeof flow !== 'function') requireText('flow', flow)
  if (resource !== undefined && typeof resource !== 'function') requireText('resource', resource)
  if (priority !== undefined && typeof priority !== 'function') requireInteger('priority', priority, -2, 2)
}

/** What the decorators on a handler and its controller come to. */
interface Decorated extends FairSettings {
  readonly handler: unknown
  readonly controller: unknown
  readonly skip: boolean
}

const reflector = new Reflector()
const decorated = new WeakMap<object, Decorated>()
/** The last answer: a request asks for one setting after the other. */
let latest: Decorated | undefined

/** The handler's own decorators count before the controller's, one setting at a time. Read once per handler. */
function decoratedBy(context: ExecutionContext): Decorated {
  const handler = context.getHandler()
  const controller = context.getClass()
  if (latest?.handler === handler && latest.controller === controller) return latest
  const known = decorated.get(handler)
  // Controllers that inherit a handler share it.
  latest = known?.controller === controller ? known : undefined
  if (latest !== undefined) return latest
  latest = {
    ...(reflector.getAllAndMerge<FairSettings | []>(FAIR_KEY, [controller, handler]) as FairSettings),
    skip: reflector.getAllAndOverride<boolean | undefined>(SKIP_KEY, [handler, controller]) ?? false,
    handler,
    controller,
  }
  decorated.set(handler, latest)
  return latest
}

type PerRequest = Required<Pick<RequestOptions<[ExecutionContext]>, 'cost' | 'flow' | 'priority' | 'resource' | 'skip'>>

/** The options that decorators can set: what they say, or else what the module's own `options` do. */
export function withDecorators(options: RequestOptions<[ExecutionContext]>): PerRequest {
  const { cost, flow, priority, resource, skip } = options
  return {
    cost: (context) => settingOf(decoratedBy(context).cost, context) ?? cost?.(context),
    flow: (context) => settingOf(decoratedBy(context).flow, context) ?? flow?.(context),
    priority: (context) => settingOf(decoratedBy(context).priority, context) ?? priority?.(context),
    resource: (context) => settingOf(decoratedBy(context).resource, context) ?? resource?.(context),
    skip: (context) => decoratedBy(context).skip || skip?.(context),
  }
}

function settingOf<T extends number | string>(
  setting: T | ((context: ExecutionContext) => T | undefined) | undefined,
  context: ExecutionContext,
): T | undefined {
  return typeof setting === 'function' ? setting(context) : setting
}
