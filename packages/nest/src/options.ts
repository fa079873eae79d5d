import { type HttpOptions, requireFunction, requireHttpOptions, requireOneOf } from '@fairlead/core/http'
import type { ExecutionContext, FactoryProvider, ModuleMetadata } from '@nestjs/common'
import type { Exchange } from './context.js'

/** Where the module puts admission: see {@link FairOptions.at}. */
export type At = 'interceptor' | 'guard' | 'nowhere'

/** Options of `FairModule.forRoot`; all optional. */
export interface FairOptions extends HttpOptions<[context: ExecutionContext]> {
  /**
   * `interceptor`: every handler is admitted after all guards, by a global interceptor. `guard`: HTTP handlers are
   * admitted before the guards of modules that come later, so that what guards refuse counts as what it is.
   * `nowhere`: you bind `FairInterceptor`, and perhaps `FairGuard`, yourself. @default 'interceptor'
   */
  at?: At
  /**
   * The request and response of Node behind a context, where the platform keeps them elsewhere than Express, Fastify
   * and the GraphQL drivers of Nest do; undefined where there is none. @default what those platforms say
   */
  exchange?: (context: ExecutionContext) => Exchange | undefined
}

/** What `FairModule.forRootAsync` needs to make options when the application starts. */
export interface FairAsyncOptions extends Pick<FairOptions, 'at'>, Pick<ModuleMetadata, 'imports'> {
  inject?: FactoryProvider['inject']
  /** Makes the options, now or later, from what `inject` names, in that order. */
  useFactory(...dependencies: never[]): Omit<FairOptions, 'at'> | Promise<Omit<FairOptions, 'at'>>
}

const PLACES: readonly At[] = ['interceptor', 'guard', 'nowhere']

/** Throws a `TypeError` or `RangeError` that names the option and its value. */
export function requireFairOptions(options: FairOptions): void {
  requireObject(options)
  const { at, exchange, ...http } = options
  requireAt(at)
  if (exchange !== undefined) requireFunction('exchange', exchange)
  requireHttpOptions('FairModule', http)
}

export function requireAt(at: At | undefined): void {
  if (at !== undefined) requireOneOf('at', at, PLACES)
}

/** Before it is taken apart; the message is the one for all adapters. */
function requireObject(options: FairOptions): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    requireHttpOptions('FairModule', options)
}
