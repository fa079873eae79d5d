import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import ts from 'typescript'
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
    minifySyntax: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    conditions: ['workerd'],
    external: ['node:*'],
  })
  return outputFiles[0]!.text
}

/** A page's text, with a space for each line break. */
function proseOf(page: string): string {
  return readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8').replaceAll('\n', ' ')
}

/** The declarations that only a bundler kept, because it cannot know that evaluating them has no effect. */
function unused(code: string): string[] {
  const source = ts.createSourceFile('bundle.js', code, ts.ScriptTarget.ESNext, true)
  const times = new Map<string, number>()
  const count = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) times.set(node.text, (times.get(node.text) ?? 0) + 1)
    node.forEachChild(count)
  }
  count(source)
  const declarations = source.statements.flatMap((statement): readonly ts.NamedDeclaration[] => {
    if (ts.isVariableStatement(statement)) return statement.declarationList.declarations
    return ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement) ? [statement] : []
  })
  return declarations.map(({ name }) => name?.getText() ?? '').filter((name) => times.get(name) === 1)
}

const gate = (options: string): string => `import { createGate } from '@fairlead/core'; export default ${options}`

/** Programs, with the limit of their bundle in kB: the size when this was written, plus a small margin. */
const PROGRAMS: readonly [what: string, source: string, most: number][] = [
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
    19,
  ],
  [
    'a queue alone',
    `import { adaptive, requestQueue } from '@fairlead/core/queue'; export default requestQueue({ concurrency: adaptive() })`,
    24.9,
  ],
  [
    'a budget alone',
    `import { escrow } from '@fairlead/core/escrow'; export default escrow({ limit: 1, windowMs: 1 })`,
    16,
  ],
  [
    'a lease alone',
    `import { DoormanClient, lease, overHttp } from '@fairlead/core/doorman'; export { DoormanClient, lease, overHttp }`,
    10,
  ],
]

describe('an edge bundle', () => {
  it.each(PROGRAMS)('of %s has its size', async (_what, source, most) => {
    expect(await kilobytesOf(source)).toBeLessThanOrEqual(most)
  })

  it('has the sizes that the READMEs state', () => {
    const kB = (what: string): string => `${PROGRAMS.find(([name]) => name === what)![2]} kB`
    const hono = kB('the default of Hono')
    expect(proseOf('README.md')).toContain(`the default middleware for Hono on Workers is at most ${hono}`)
    expect(proseOf('packages/core/README.md')).toContain(
      `a gate with FAIR takes at most ${kB('a gate with FAIR')}, with shedding ${kB('a gate with FAIR and shedding')}, ` +
        `and \`@fairlead/hono\` on Workers ${hono}. A queue alone takes at most ${kB('a queue alone')}, ` +
        `a budget ${kB('a budget alone')}, a Doorman client ${kB('a lease alone')}.`,
    )
  })

  it.each(PROGRAMS)('of %s keeps nothing that nothing uses', async (_what, source) => {
    expect(unused(await codeOf(source))).toEqual([])
  })

  it.each([
    ['', 'LoadShedder'],
    ['', 'BlueSketch'],
    ['/queue', 'RequestQueue'],
    ['/queue', 'FairQueue'],
    ['/queue', 'AdaptiveCapacity'],
    ['/escrow', 'Ledger'],
    ['/doorman', 'LeaseStage'],
    ['/doorman', 'SharedFairClock'],
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
