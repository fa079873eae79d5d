import { createGate } from '@fairlead/core'
import { requestQueue } from '@fairlead/core/queue'
import { Controller, Get } from '@nestjs/common'
import { ExpressAdapter } from '@nestjs/platform-express'
import { describe, expect, it } from 'vitest'
import { listen } from './fixtures/nest-harness.js'
import { FAIR_GATE, Fair, FairModule, type FairOptions, type FairSettings } from './index.js'

describe('options', () => {
  for (const name of ['flow', 'cost', 'priority', 'exempt', 'skip', 'address', 'outcome', 'handler', 'exchange'])
    it.each([1, 'key', null, {}])(`${name} refuses %j`, (value) =>
      expect(() => FairModule.forRoot({ [name]: value } as FairOptions)).toThrow(
        new RegExp(`^${name} must be a function, got `),
      ),
    )

  it.each<[unknown, string]>([
    [{ keyGenerator: () => 'a' }, 'FairModule has no option "keyGenerator"'],
    [{ at: 'middleware' }, 'at must be one of "interceptor", "guard", "nowhere", got "middleware"'],
    [{ at: null }, 'at must be one of "interceptor", "guard", "nowhere", got null'],
    [{ rateLimit: 'sometimes' }, 'rateLimit must be one of "near", "always", "never", got "sometimes"'],
    [{ gate: {} }, 'gate must be made by createGate, got an object'],
    [{ gate: createGate(), fair: {} }, 'fair is an option of the gate'],
    [null, 'FairModule must be an object, got null'],
    ['default', 'FairModule must be an object, got "default"'],
    [[], 'FairModule must be an object, got an array'],
  ])('%j is refused', (options, message) => expect(() => FairModule.forRoot(options as FairOptions)).toThrow(message))

  it('of the gate, and those that come late, are refused when the application starts', async () => {
    const start = (module: ReturnType<typeof FairModule.forRoot>): Promise<unknown> =>
      listen({ imports: [module] }, new ExpressAdapter())
    await expect(start(FairModule.forRoot({ queue: requestQueue({ concurrency: 0 }) }))).rejects.toThrow(
      'concurrency must be ',
    )
    const useFactory = (): FairOptions => ({ ipv6Prefix: 0 })
    await expect(start(FairModule.forRootAsync({ useFactory }))).rejects.toThrow('ipv6Prefix must be an integer')
    expect(() => FairModule.forRootAsync({ at: 'later' as never, useFactory })).toThrow('at must be one of')
  })

  it.each<[unknown, string]>([
    [{ cost: 0 }, 'cost must be a number > 0, got 0'],
    [{ cost: Number.NaN }, 'cost must be a number > 0, got NaN'],
    [{ cost: '5' }, 'cost must be a number > 0, got "5"'],
    [{ flow: '' }, 'flow must be a non-empty string, got ""'],
    [{ flow: 7 }, 'flow must be a non-empty string or a path of them, got 7'],
    [{ priority: 3 }, 'priority must be an integer from -2 to 2, got 3'],
    [{ weight: 3 }, '@Fair has no option "weight"; it knows cost, flow, priority, resource'],
    [undefined, '@Fair must be an object, got undefined'],
  ])('@Fair(%j) is refused', (settings, message) => expect(() => Fair(settings as FairSettings)).toThrow(message))

  it('without options: FAIR, and shedding by memory, heap and event-loop delay', async () => {
    @Controller()
    class App {
      @Get()
      get(): string {
        return 'fine'
      }
    }
    const { app, close } = await listen({ imports: [FairModule.forRoot()], controllers: [App] }, new ExpressAdapter())
    const { stages } = app.get(FAIR_GATE).snapshot()
    expect(stages).toMatchObject({
      fair: { rule: 'fair-clock' },
      shed: { signals: [{ name: 'memory' }, { name: 'heap' }, { name: 'event-loop-delay' }] },
    })
    await close()
  })
})
