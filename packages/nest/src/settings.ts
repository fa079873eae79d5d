import { type RequestOptions, type RouteSettings, withRouteSettings } from '@fairlead/core/http'
import type { ExecutionContext } from '@nestjs/common'
import { Reflector } from '@nestjs/core'

/** What `@Fair` says of a controller or a handler. Functions are as the options of the same name. */
export interface FairSettings extends RouteSettings<[context: ExecutionContext]> {}

/** Where the decorators write. */
export const FAIR_KEY = 'fairlead:fair'
export const SKIP_KEY = 'fairlead:skip'

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
