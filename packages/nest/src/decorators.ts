import { type FairRequest, type RouteSettings, requireRouteSettings } from '@fairlead/core/http'
import { type CustomDecorator, createParamDecorator, type ExecutionContext, Inject, SetMetadata } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import { visitOf } from './context.js'

/** Token of the gate, for `inject: [FAIR_GATE]`; with decorators use `@InjectGate()`. */
export const FAIR_GATE: unique symbol = Symbol('FairGate')

/**
 * On a controller or a handler: the cost, flow, priority and resource of its requests. A handler's settings override
 * its controller's, and both override the module's options. Throws a `TypeError` or `RangeError` that names a bad
 * setting and its value.
 */
export function Fair(settings: FairSettings): CustomDecorator {
  requireRouteSettings('@Fair', settings)
  return SetMetadata(FAIR_KEY, settings)
}

/** On a controller or a handler: hides its requests from the gate. `@SkipFair(false)` on a handler shows them again. */
export function SkipFair(skip: boolean = true): CustomDecorator {
  return SetMetadata(SKIP_KEY, skip)
}

/** Injects the gate of the `FairModule`, for pages and metrics. */
export function InjectGate(): PropertyDecorator & ParameterDecorator {
  return Inject(FAIR_GATE)
}

/**
 * A handler's parameter: the {@link FairRequest} with the permit, the signal that its client is gone, and `hold()`.
 * Undefined if no gate judged the request. On WebSockets only messages whose data is an object can carry it.
 */
export const FairPermit: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): FairRequest | undefined => visitOf(context),
)

/** Settings of `@Fair` for a controller or a handler. Functions are as in the options of the same name. */
export interface FairSettings extends RouteSettings<[context: ExecutionContext]> {}

/** Metadata key of the decorators. */
const FAIR_KEY = 'fairlead:fair'
const SKIP_KEY = 'fairlead:skip'

/** The combined settings of the decorators on a handler and its controller. */
interface Decorated extends FairSettings {
  readonly controller: unknown
  readonly skip: boolean
}

const reflector = new Reflector()
const decorated = new WeakMap<object, Decorated>()

/** The handler's own decorators override the controller's, one setting at a time. Read once per handler. */
export function decoratedBy(context: ExecutionContext): FairSettings & { readonly skip: boolean } {
  const handler = context.getHandler()
  const controller = context.getClass()
  const known = decorated.get(handler)
  // Controllers that inherit a handler share it.
  if (known?.controller === controller) return known
  const read: Decorated = {
    ...(reflector.getAllAndMerge<FairSettings | []>(FAIR_KEY, [controller, handler]) as FairSettings),
    skip: reflector.getAllAndOverride<boolean | undefined>(SKIP_KEY, [handler, controller]) ?? false,
    controller,
  }
  decorated.set(handler, read)
  return read
}
