import { type HttpOptions, requireFunction, requireHttpOptions, requireOneOf } from '@fairlead/core/http'
import type { ExecutionContext, FactoryProvider, ModuleMetadata } from '@nestjs/common'
import type { Exchange } from './context.js'

/** Place of the admission: see {@link FairModuleOptions.at}. */
export type At = 'interceptor' | 'guard' | 'nowhere'

/** Options of `FairModule.forRoot`; all optional. */
export interface FairModuleOptions extends HttpOptions<[context: ExecutionContext]> {
  /**
   * `interceptor`: a global interceptor judges requests of every handler after all guards. `guard`: HTTP requests are
   * judged before the guards of modules that come later, so that the answers of these guards count by their status.
   * `nowhere`: you bind `FairInterceptor`, and perhaps `FairGuard`, yourself. @default 'interceptor'
   */
  at?: At
  /**
   * Node's request and response of a context, if the platform keeps them elsewhere than Express, Fastify and the
   * GraphQL drivers of Nest do; undefined if there is none. @default those of these platforms
   */
  exchange?: (context: ExecutionContext) => Exchange | undefined
}

/** Options of `FairModule.forRootAsync`, which makes the module's options when the application starts. */
export interface FairAsyncOptions extends Pick<FairModuleOptions, 'at'>, Pick<ModuleMetadata, 'imports'> {
  inject?: FactoryProvider['inject']
  /** Makes the options, now or later, from the providers in `inject`, in that order. */
  useFactory(...dependencies: never[]): Omit<FairModuleOptions, 'at'> | Promise<Omit<FairModuleOptions, 'at'>>
}

const PLACES: readonly At[] = ['interceptor', 'guard', 'nowhere']

/** Throws a `TypeError` or `RangeError` that names the option and its value. */
export function requireFairOptions(options: FairModuleOptions): void {
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
function requireObject(options: FairModuleOptions): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    requireHttpOptions('FairModule', options)
}
