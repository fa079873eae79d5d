import { type DynamicModule, Inject, Module, type OnModuleDestroy, type Provider } from '@nestjs/common'
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core'
import { FairAdmission } from './admission.js'
import { FAIR_GATE } from './decorators.js'
import { FairGuard } from './guard.js'
import { FairInterceptor } from './interceptor.js'
import { type At, type FairAsyncOptions, type FairModuleOptions, requireAt, requireFairOptions } from './options.js'

const OPTIONS = Symbol('FairOptions')
/**
 * Nest 10 merges modules whose serialised forms are equal, and gates serialise equally. This number distinguishes them.
 */
const NUMBER = Symbol('FairModule')
let modules = 0

/**
 * Fair admission control for Nest: `imports: [FairModule.forRoot()]` in the root module.
 *
 * Without options: FAIR between client addresses, and load shedding by memory and event-loop delay, for every handler.
 * Starts nothing before the first request. A gate that was made here is closed when the application shuts down.
 */
@Module({})
export class FairModule implements OnModuleDestroy {
  readonly #admission: FairAdmission

  constructor(@Inject(FairAdmission) admission: FairAdmission) {
    this.#admission = admission
  }

  /** Throws a `TypeError` or `RangeError` that names a bad option and its value. */
  static forRoot(options: FairModuleOptions = {}): DynamicModule {
    requireFairOptions(options)
    return dynamicModule({ provide: OPTIONS, useValue: options }, options.at)
  }

  /** Options that need other providers. Errors in them are thrown when the application starts. */
  static forRootAsync({ at, imports = [], inject = [], useFactory }: FairAsyncOptions): DynamicModule {
    requireAt(at)
    return { ...dynamicModule({ provide: OPTIONS, inject, useFactory }, at), imports }
  }

  /** Nest calls this before it stops listening: new requests are answered 503, running ones may end. */
  onModuleDestroy(): void {
    this.#admission.close()
  }
}

function dynamicModule(options: Provider, at: At = 'interceptor'): DynamicModule {
  const providers: Provider[] = [
    options,
    { provide: NUMBER, useValue: ++modules },
    {
      provide: FairAdmission,
      inject: [OPTIONS],
      useFactory: (options: FairModuleOptions) => new FairAdmission(options),
    },
    { provide: FAIR_GATE, inject: [FairAdmission], useFactory: ({ gate }: FairAdmission) => gate },
    FairInterceptor,
    FairGuard,
  ]
  if (at === 'guard') providers.push({ provide: APP_GUARD, useExisting: FairGuard })
  if (at !== 'nowhere') providers.push({ provide: APP_INTERCEPTOR, useExisting: FairInterceptor })
  return {
    module: FairModule,
    global: true,
    providers,
    exports: [FairAdmission, FAIR_GATE, FairInterceptor, FairGuard],
  }
}
