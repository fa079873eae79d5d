import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { bun, deno, node20, node22, node24, node26 } from '@fairlead-testing/runtimes'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { build } from 'esbuild'
import { rollup } from 'rollup'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import webpack from 'webpack'
import { EXAMPLE_MODULES, EXAMPLES, programOf } from './examples.js'
import { Project } from './project.js'
import { entriesOf, packAll, removeFolders, run } from './tarballs.js'
import { answerOnWorkerd } from './workerd.js'

const HELLO = `
const app = new Hono()
app.use(fairMiddleware({ flow: () => 'tenant-7' }))
app.get('/', (c) => c.text('hello'))`
const PRINT = `Promise.resolve(app.request('/')).then((response) => response.text()).then(console.log)`
const IMPORT = `import { fairMiddleware } from '@fairlead/hono'\nimport { Hono } from 'hono'`
const REQUIRE = `const { fairMiddleware } = require('@fairlead/hono')\nconst { Hono } = require('hono')`

let project: Project
let entries: readonly string[]

afterAll(removeFolders)
beforeAll(async () => {
  const tarballs = await packAll()
  project = new Project(tarballs)
  project.link(EXAMPLE_MODULES)
  entries = tarballs.flatMap(({ manifest }) => entriesOf(manifest))
  project.write('hello.mjs', `${IMPORT}${HELLO}\n${PRINT}`)
  project.write('hello.cjs', `${REQUIRE}${HELLO}\n${PRINT}`)
})

/** The path of a tool's program. */
function binOf(name: string, file: string): string {
  return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), file)
}

describe('on Node', () => {
  const nodes = Object.entries({ 20: node20, 22: node22, 24: node24, 26: node26, running: process.execPath })
  it.each(nodes.filter(([, node]) => node !== undefined))(
    '%s, import and require give the same modules',
    async (_, node) => {
      const list = JSON.stringify(entries)
      const program = `
      import { createRequire } from 'node:module'
      import 'reflect-metadata'
      const require = createRequire(import.meta.url)
      const bad = []
      for (const entry of ${list}) {
        const imported = await import(entry)
        const names = Object.keys(imported)
        if (names.length === 0 || names.some((name) => require(entry)[name] !== imported[name])) bad.push(entry)
      }
      console.log(bad)`
      expect(entries.length).toBeGreaterThan(15)
      project.write('all.mjs', program)
      expect(await project.run('all.mjs', [node!])).toBe('[]')
      expect(await project.run('hello.mjs', [node!])).toBe('hello')
      expect(await project.run('hello.cjs', [node!, '--no-warnings'])).toBe('hello')
    },
  )
})

describe('TypeScript', () => {
  // The Doorman server has only an ES module, which `node16` does not let CommonJS import.
  const libraries = (): readonly string[] => entries.filter((entry) => !entry.startsWith('@fairlead/doorman'))
  const modes: readonly [string, string, string, 'commonjs' | 'module'][] = [
    ['typescript5', 'commonjs', 'node10', 'commonjs'],
    ['typescript5', 'node16', 'node16', 'commonjs'],
    ['typescript5', 'nodenext', 'nodenext', 'commonjs'],
    ['typescript5', 'esnext', 'bundler', 'module'],
    ['typescript', 'node16', 'node16', 'commonjs'],
    ['typescript', 'nodenext', 'nodenext', 'module'],
    ['typescript', 'esnext', 'bundler', 'module'],
  ]

  it.each(modes)(
    '%s, module %s, resolution %s, a package of type %s',
    async (compiler, module, moduleResolution, type) => {
      const folder = `${compiler}-${module}-${moduleResolution}-${type}`
      const compilerOptions = {
        module,
        moduleResolution,
        target: 'es2022',
        lib: ['es2023', 'esnext.disposable'],
        types: ['node'],
        strict: true,
        exactOptionalPropertyTypes: true,
        esModuleInterop: true,
        skipLibCheck: true,
        outDir: 'js',
        rootDir: '.',
      }
      project.write(`${folder}/package.json`, JSON.stringify({ type }))
      project.write(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions, files: ['main.ts'] }))
      project.write(
        `${folder}/main.ts`,
        `import 'reflect-metadata'
      import { createGate, type Gate } from '@fairlead/core'
      import { requestQueue } from '@fairlead/core/queue'
      import { fairMiddleware } from '@fairlead/express'
      import express from 'express'
      ${libraries()
        .map((entry, at) => `import * as entry${at} from '${entry}'`)
        .join('\n')}
      const gate: Gate = createGate({ queue: requestQueue({ concurrency: 3 }) })
      // @ts-expect-error the types are there
      export const misuse = (): Gate => createGate({ weightOf: 7 })
      const app = express()
      app.use(fairMiddleware({ gate, flow: (req) => req.ip }))
      app.get('/', (req, res) => {
        res.json(req.fair?.signal.aborted)
      })
      const all: readonly object[] = [${libraries()
        .map((_, at) => `entry${at}`)
        .join(', ')}]
      console.log(all.every((names) => Object.keys(names).length > 0))`,
      )
      await run(project.folder, process.execPath, binOf(compiler, 'bin/tsc'), '-p', folder)
      expect(await project.run(`${folder}/js/main.js`, [process.execPath, '--no-warnings'])).toBe('true')
    },
  )
})

describe('test runners', () => {
  const CASES = `
    test('a request is answered', async () => {${HELLO}
      expect(await (await app.request('/')).text()).toBe('hello')
    })`

  it.each(['jest', 'jest29'])('%s, without flags, has all that is required', async (jest) => {
    const libraries = JSON.stringify(entries.filter((entry) => !entry.startsWith('@fairlead/doorman')))
    const all = `
    require('reflect-metadata')
    test.each(${libraries})('%s', (entry) => {
      expect(Object.keys(require(entry)).length).toBeGreaterThan(0)
    })`
    project.write(`${jest}/hello.test.js`, `${REQUIRE}${CASES}${all}`)
    project.write(`${jest}/package.json`, '{}')
    await run(join(project.folder, jest), process.execPath, binOf(jest, 'bin/jest.js'), '--ci', '--rootDir', '.')
  })

  it('Vitest', async () => {
    project.write('vitest/hello.test.ts', `import { expect, test } from 'vitest'\n${IMPORT}${CASES}`)
    const folder = join(project.folder, 'vitest')
    await run(folder, process.execPath, binOf('vitest', 'vitest.mjs'), 'run', '--root', folder)
  })
})

describe('bundlers', () => {
  it.each(['esm', 'cjs'] as const)('esbuild, to %s for Node', async (format) => {
    const out = `esbuild/${format}.${format === 'esm' ? 'mjs' : 'cjs'}`
    const outfile = join(project.folder, out)
    const entryPoints = [join(project.folder, format === 'esm' ? 'hello.mjs' : 'hello.cjs')]
    await build({ entryPoints, outfile, bundle: true, format, platform: 'node', logLevel: 'silent' })
    expect(await project.run(out)).toBe('hello')
  })

  it('rollup, with no plugin but the one that finds packages', async () => {
    const warnings: string[] = []
    const bundle = await rollup({
      input: join(project.folder, 'hello.mjs'),
      plugins: [nodeResolve()],
      external: /^node:/,
      onwarn: ({ message }) => warnings.push(message),
    })
    await bundle.write({ file: join(project.folder, 'rollup/out.mjs'), format: 'es', inlineDynamicImports: true })
    await bundle.close()
    expect(warnings).toEqual([])
    expect(await project.run('rollup/out.mjs')).toBe('hello')
  })

  it.each(['hello.mjs', 'hello.cjs'])('webpack, of %s', async (source) => {
    const filename = `webpack-${source}.cjs`
    const stats = await new Promise<webpack.Stats>((resolve, reject) => {
      const entry = join(project.folder, source)
      const output = { path: project.folder, filename }
      webpack({ mode: 'production', target: 'node', context: project.folder, entry, output }, (error, done) =>
        done ? resolve(done) : reject(error),
      )
    })
    expect(stats.toJson({ all: false, errors: true, warnings: true })).toMatchObject({ errors: [], warnings: [] })
    expect(await project.run(filename)).toBe('hello')
  })
})

describe('other runtimes', () => {
  const others: [string, string[]][] = []
  if (bun !== undefined) others.push(['Bun', [bun]])
  if (deno !== undefined) others.push(['Deno', [deno, 'run', '--allow-all', '--node-modules-dir=manual']])
  it.each(others)('%s', async (_, command) => {
    expect(await project.run('hello.mjs', command)).toBe('hello')
    expect(await project.run('hello.cjs', command)).toBe('hello')
  })

  it.each([['Node', [process.execPath]], ...others] as const)('the examples of fetch on %s', async (_, command) => {
    for (const example of EXAMPLES) {
      const file = `examples/${example.file}.mjs`
      project.write(file, await programOf(example))
      expect(await project.run(file, command), example.title).toContain(example.answer)
    }
  })

  it('workerd', async () => {
    const { outputFiles } = await build({
      stdin: { contents: `${IMPORT}${HELLO}\nexport default app`, resolveDir: project.folder },
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'neutral',
      mainFields: ['module', 'main'],
      conditions: ['workerd', 'worker', 'browser'],
      external: ['node:*'],
    })
    expect(await answerOnWorkerd(outputFiles[0]!.text)).toBe('hello')
  })
})
