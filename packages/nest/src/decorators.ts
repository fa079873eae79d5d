import { type FairRequest, requireRouteSettings } from '@fairlead/core/http'
import { type CustomDecorator, createParamDecorator, type ExecutionContext, Inject, SetMetadata } from '@nestjs/common'
import { FAIR_KEY, type FairSettings, SKIP_KEY } from './settings.js'
import { visitOf } from './visits.js'

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
