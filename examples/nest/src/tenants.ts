// Tenants that share a pool of three connections (../../pool): pnpm --filter @fairlead-examples/nest start:tenants
import { Fair, FairModule, FairPermit, type FairRequest, type Gate, InjectGate, SkipFair } from '@fairlead/nest'
import { query } from '@fairlead-examples/pool'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'

@Controller()
class Shop {
  readonly #gate: Gate

  constructor(@InjectGate() gate: Gate) {
    this.#gate = gate
    gate.observe((event) => {
      if (event.type === 'refused') console.log(`refused ${event.flow}: ${event.refusal.reason}`)
    })
  }

  // The permit is kept until the query has ended, even if the client has left; the signal cancels the query.
  @Get('items')
  items(@FairPermit() fair: FairRequest): Promise<string[]> {
    return query(['rope', 'cleat'], fair.signal)
  }

  // A report is worth ten ordinary requests.
  @Get('report')
  @Fair({ cost: 10 })
  report(@FairPermit() fair: FairRequest): Promise<object> {
    return query({ pages: 10, cost: fair.permit?.cost }, fair.signal)
  }

  @Get('admission')
  admission(): object {
    return this.#gate.snapshot()
  }
}

// A liveness probe must always get an answer, and says nothing about load.
@Controller('health')
@SkipFair()
class Health {
  @Get()
  health(): string {
    return 'ok'
  }
}

const fair = FairModule.forRoot({
  // Behind authentication this would be the tenant; without a key the client's address is the flow.
  flow: (context) => context.switchToHttp().getRequest().headers['x-api-key'],
  handler: (_context, { refusal, retryAfterSeconds }) => ({
    error: `${refusal.reason}: come back in ${retryAfterSeconds} s`,
  }),
})

@Module({ imports: [fair], controllers: [Shop, Health] })
class App {}

const app = await NestFactory.create(App, { logger: ['fatal'] })
await app.listen(Number(process.env['PORT'] ?? 3000))
console.log('listening on', app.getHttpServer().address())
