import { requestQueue } from '@fairlead/core/queue'
import 'reflect-metadata'
import type { Server } from 'node:http'
import { FAIR_GATE, FairModule } from '@fairlead/nest'
import { Controller, Get, Module, ServiceUnavailableException } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import { type Framework, listening, type Peer, type Watched, windowOf } from './framework.js'

const peer: Peer = { name: 'ThrottlerGuard', documented: { limit: 10, windowMs: 60_000 } }

export const framework: Framework = {
  title: 'Nest (Express)',
  peer,
  async serve({ guard, use, capacity }) {
    class Answers {
      get(): { answer: number } {
        if (!use()) throw new ServiceUnavailableException('used up')
        return { answer: 42 }
      }
    }
    // Decorators by hand: their syntax would need a compiler option that the rest of the lab does not use.
    Controller()(Answers)
    Get()(Answers.prototype, 'get', Object.getOwnPropertyDescriptor(Answers.prototype, 'get')!)
    class App {}
    const window = windowOf(guard, peer)
    const guarded = guard !== 'nothing' && window === undefined
    if (window) {
      const throttler = ThrottlerModule.forRoot([{ ttl: window.windowMs, limit: window.limit }])
      const providers = [{ provide: APP_GUARD, useClass: ThrottlerGuard }]
      Module({ imports: [throttler], providers, controllers: [Answers] })(App)
    } else if (guarded) {
      const fair = FairModule.forRoot(guard === 'fairlead' ? {} : { queue: requestQueue({ concurrency: capacity }) })
      Module({ imports: [fair], controllers: [Answers] })(App)
    } else Module({ controllers: [Answers] })(App)
    const app = await NestFactory.create(App, new ExpressAdapter(), { logger: ['error', 'warn'] })
    const port = listening(app.getHttpServer() as Server)
    await app.listen(0, '127.0.0.1')
    return { port: await port, gate: guarded ? app.get<Watched>(FAIR_GATE) : undefined }
  },
}
