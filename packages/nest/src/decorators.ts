import {
  type FairRequest,
  type RequestOptions,
  type RouteSettings,
  requireRouteSettings,
  withRouteSettings,
} from '@fairlead/core/http'
import { type CustomDecorator, createParamDecorator, type ExecutionContext, Inject, SetMetadata } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import { visitOf } from './context.js'

/** Token of the gate, for `inject: [FAIR_GATE]`; where decorators do, `@InjectGate()`. */
export const FAIR_GATE: unique symbol = Symbol('FairGate')

/**
 * On a controller or a handler: what its requests cost, whom they belong to, how much they matter. A handler's settings
 * count before its controller's, and those before the module's options. Throws a `TypeError` or `RangeError` that names
 * a bad setting and its value.
 */
export function Fair(settings: FairSettings): CustomDecorator {
  requireRouteSettings('@Fair', settings)
  return SetMetadata(FAIR_KEY, settings)
}

/** On a controller or a handler: no gate sees its requests. `@SkipFair(false)` on a handler: they do all the same. */
export function SkipFair(skip: boolean = true): CustomDecorator {
  return SetMetadata(SKIP_KEY, skip)
}

/** Injects the gate of the `FairModule`, for pages and metrics. */
export function InjectGate(): PropertyDecorator & ParameterDecorator {
  return Inject(FAIR_GATE)
}

/**
 * A handler's parameter: the {@link FairRequest} with the permit, the signal that its client is gone, and `hold()`.
 * Undefined where no gate judged the request. On WebSockets only messages whose data is an object can carry it.
 */
export const FairPermit: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): FairRequest | undefined => visitOf(context),
)

/** What `@Fair` says of a controller or a handler. Functions are as the options of the same name. */
export interface FairSettings extends RouteSettings<[context: ExecutionContext]> {}

/** Where the decorators write. */
const FAIR_KEY = 'fairlead:fair'
const SKIP_KEY = 'fairlead:skip'

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

/** The options that decorators can set: what they say, or else what the module's own `options` do. */
export function withDecorators(options: RequestOptions<[ExecutionContext]>): RequestOptions<[ExecutionContext]> {
  return withRouteSettings(options, decoratedBy)
}
