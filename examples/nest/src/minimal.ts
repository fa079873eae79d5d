// The smallest complete program: pnpm --filter @fairlead-examples/nest start
import { FairModule } from '@fairlead/nest'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'

@Controller()
class Hello {
  @Get()
  hello(): string {
    return 'hello\n'
  }
}

@Module({ imports: [FairModule.forRoot()], controllers: [Hello] })
class App {}

const app = await NestFactory.create(App, { logger: ['error', 'warn'] })
await app.listen(Number(process.env['PORT'] ?? 3000))
console.log('listening on', app.getHttpServer().address())
