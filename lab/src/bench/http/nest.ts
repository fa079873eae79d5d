import 'reflect-metadata'
import type { Server } from 'node:http'
import { FairGuard, FairModule } from '@fairlead/nest'
import {
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Module,
  type ModuleMetadata,
  type NestInterceptor,
} from '@nestjs/common'
import { type AbstractHttpAdapter, APP_GUARD, APP_INTERCEPTOR, NestFactory } from '@nestjs/core'
import { type ThrottlerGetTrackerFunction, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import { finalize, type Observable } from 'rxjs'
import { FLOW_HEADER, type Framework, lucky, NEVER_REACHED, portOf } from './framework.js'

class Hello {
  get(): { hello: string } {
    return { hello: 'world' }
  }
}
// Decorators by hand: their syntax would need a compiler option that the rest of the lab does not use.
Controller()(Hello)
Get()(Hello.prototype, 'get', Object.getOwnPropertyDescriptor(Hello.prototype, 'get')!)

class EmptyGuard implements CanActivate {
  canActivate(): boolean {
    return true
  }
}

class EmptyInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(finalize(() => {}))
  }
}

const modes: Record<string, () => ModuleMetadata> = {
  'bare Nest': () => ({}),
  'empty guard': () => ({ providers: [{ provide: APP_GUARD, useClass: EmptyGuard }] }),
  'empty interceptor': () => ({ providers: [{ provide: APP_INTERCEPTOR, useClass: EmptyInterceptor }] }),
  'fairlead, default': () => ({ imports: [FairModule.forRoot({ random: lucky })] }),
  'fairlead, flow by header': () => ({
    imports: [FairModule.forRoot({ random: lucky, flow: (context) => context.getArgByIndex(0).headers[FLOW_HEADER] })],
  }),
  'fairlead, guard alone': () => ({
    imports: [FairModule.forRoot({ random: lucky, at: 'nowhere' })],
    providers: [{ provide: APP_GUARD, useExisting: FairGuard }],
  }),
  'ThrottlerGuard, by address': () => throttled(),
  'ThrottlerGuard, by header': () => throttled((req) => req['headers'][FLOW_HEADER]),
}

/**
 * A window of a second: the throttler keeps a timer for each hit until the window is over, and those of a minute's hits
 * would run while other modes are measured.
 */
function throttled(getTracker?: ThrottlerGetTrackerFunction): ModuleMetadata {
  const throttlers = [{ ttl: 1_000, limit: NEVER_REACHED }]
  return {
    imports: [ThrottlerModule.forRoot({ throttlers, ...(getTracker && { getTracker }) })],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  }
}

/** Nest 12 on the platform of the adapter. */
export function nestOn(title: string, adapter: () => AbstractHttpAdapter): Framework {
  return {
    title,
    goalUs: 12,
    about:
      'Fairlead admits in an interceptor, because only there a permit can be held until the handler has settled. Its ' +
      'guard alone sees no handler settle, so permits end with their responses, as under Express. ThrottlerGuard ' +
      'counts arrivals, in a window of a second here, observes no ends, and sets headers.',
    modes: Object.keys(modes),
    async serve(mode) {
      class App {}
      Module({ ...modes[mode]?.(), controllers: [Hello] })(App)
      const app = await NestFactory.create(App, adapter(), { logger: ['error', 'warn'] })
      const port = portOf(app.getHttpServer() as Server)
      await app.listen(0, '127.0.0.1')
      return port
    },
  }
}
