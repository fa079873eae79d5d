import { afterEach, describe, expect, it, vi } from 'vitest'
import { Program } from './program.js'

const PATIENCE = { timeout: 20_000 }

/** The tests of each adapter's examples `minimal` and `tenants`. `dist` is the folder of the compiled ones. */
export function adapterExamples(dist: URL): void {
  let program: Program | undefined
  afterEach(() => program?.stop())
  const start = async (name: string): Promise<Program> => {
    program = await Program.start(new URL(`${name}.js`, dist))
    return program
  }

  describe('examples', () => {
    it('minimal: says hello', async () => {
      const minimal = await start('minimal')
      expect(await (await minimal.ask('/')).text()).toBe('hello\n')
    })

    it('tenants: serves, refuses the flow that empties the pool, and holds nothing at the end', async () => {
      const tenants = await start('tenants')
      // On a busy machine it may shed a few requests before.
      await vi.waitFor(async () => expect(await tenants.json('/items')).toEqual(['rope', 'cleat']), PATIENCE)
      await vi.waitFor(async () => expect(await tenants.json('/report')).toEqual({ pages: 10, cost: 10 }), PATIENCE)
      const statuses = new Set<number>()
      while (!statuses.has(429)) {
        const replies = await Promise.all(Array.from({ length: 30 }, () => tenants.ask('/items', 'loud')))
        for (const { status } of replies) statuses.add(status)
      }
      expect([...statuses].toSorted()).toEqual([200, 429, 503])
      // The output arrives through another channel than the answers.
      await vi.waitFor(() => expect(tenants.lines).toContain('refused loud: unfair'), PATIENCE)
      expect(await (await tenants.ask('/health')).text()).toBe('ok')
      // The request that asks holds the only permit.
      await vi.waitFor(async () => {
        expect(await tenants.json('/admission')).toMatchObject({ inFlight: 1, waiting: 0 })
      }, PATIENCE)
    })
  })
}
