import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'

/** Size of a worker made of `source`, minified and gzipped, in kB (1000 bytes). */
async function kilobytesOf(source: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    conditions: ['workerd'],
    external: ['node:*'],
  })
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length / 1_000
}

/** The code of a worker made of `source`, with its original names. */
async function codeOf(source: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    external: ['node:*'],
  })
  return outputFiles[0]!.text
}

const gate = (options: string): string => `import { createGate } from '@fairlead/core'; export default ${options}`

/** Limits in kB: the size when this was written, plus a small margin. */
describe('an edge bundle', () => {
  it.each<[string, string, number]>([
    ['the default of Hono', `import { fairMiddleware } from '@fairlead/hono'; export default fairMiddleware()`, 20.7],
    [
      'fairFetch',
      `import { fairFetch } from '@fairlead/core/fetch'; export default fairFetch(() => new Response())`,
      20.7,
    ],
    ['a gate with FAIR', gate('createGate()'), 15],
    [
      'a gate with FAIR and shedding',
      `import { createGate, loadShedder } from '@fairlead/core'
      export default (signal) => createGate({ shed: loadShedder({ signal }) })`,
      18.8,
    ],
    [
      'a queue alone',
      `import { adaptive, requestQueue } from '@fairlead/core/queue'; export default requestQueue({ concurrency: adaptive() })`,
      22.9,
    ],
    [
      'a budget alone',
      `import { escrow } from '@fairlead/core/escrow'; export default escrow({ limit: 1, windowMs: 1 })`,
      14.3,
    ],
    [
      'a lease alone',
      `import { DoormanClient, lease, overHttp } from '@fairlead/core/doorman'; export { DoormanClient, lease, overHttp }`,
      10,
    ],
  ])('of %s', async (_what, source, most) => {
    expect(await kilobytesOf(source)).toBeLessThanOrEqual(most)
  })

  it.each([
    ['', 'LoadShedder'],
    ['', 'BlueSketch'],
    ['/queue', 'RequestQueue'],
    ['/queue', 'FairQueue'],
    ['/queue', 'AdaptiveCapacity'],
    ['/escrow', 'Ledger'],
    ['/doorman', 'LeaseStage'],
    ['/quota', 'MemoryQuotaStore'],
    ['/telemetry', 'GateTelemetry'],
  ])('of a gate has nothing of core%s that it is not asked for: no %s', async (entry, name) => {
    const own = new RegExp(`\\b${name}\\b`)
    expect(own.test(await codeOf(`export * from '@fairlead/core${entry}'`))).toBe(true)
    expect(own.test(await codeOf(gate('createGate()')))).toBe(false)
  })

  it.each(['workerd', 'edge-light', 'browser'])('of fairFetch for %s imports nothing of Node', async (condition) => {
    const { metafile } = await build({
      stdin: { contents: `export { fairFetch } from '@fairlead/core/fetch'`, resolveDir: import.meta.dirname },
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      platform: 'neutral',
      conditions: [condition],
      external: ['node:*'],
    })
    expect(Object.values(metafile.outputs)[0]!.imports).toEqual([])
  })
})
