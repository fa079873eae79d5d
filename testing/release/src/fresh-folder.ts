import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@fairlead-testing/servers'
import { transform } from 'esbuild'
import { type Example, moduleOf, programOf, versionOf } from './examples.js'
import type { Registry } from './registry.js'
import { entriesOf, freshFolder, ROOT, run, runLoud, type Tarball } from './tarballs.js'
import { answerOnWorkerd } from './workerd.js'

/** One set of versions of a package's dependencies. */
export interface Variant {
  readonly title: string
  /** Packages that the project already has. */
  readonly before?: readonly string[]
  /** A package from the README's install line, and the one installed instead, for example `['koa', 'koa@2']`. */
  readonly instead?: readonly [string, string]
  /** The runtime of the program. @default this Node */
  readonly runtime?: Runtime
}

/** The command of a runtime, for example `['deno', 'run']`. */
export type Runtime = readonly [command: string, ...args: string[]]

const NODE: Runtime = [process.execPath]

const INSTALL = /^npm install .*$/m
const PROGRAM = /```ts\n([\s\S]*?)```/
const PORT = /\b3000\b/

/** npm's messages about incompatible versions, deprecated packages, and ours; other messages concern the framework. */
const MISFIT = /ERESOLVE|deprecated|@fairlead/
const QUIETLY = ['--no-audit', '--no-fund', '--prefer-offline']

/**
 * Follows the README of a package in a fresh folder: its first `npm install …`, then its first program, which must
 * answer with its greeting; if that is no server, all entry points are imported. Returns the duration in milliseconds.
 * Rejects if anything fails, or npm or the program prints a warning.
 */
export async function followReadme(registry: Registry, tarball: Tarball, variant: Variant): Promise<number> {
  const folder = freshFolder('readme')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  registry.use(folder)
  if (variant.before) await runLoud(folder, 'npm', 'install', ...variant.before, ...QUIETLY)

  const readme = readFileSync(join(tarball.contents, 'README.md'), 'utf8')
  const [, ...words] = INSTALL.exec(readme)?.[0].split(' ') ?? []
  const [usual, other] = variant.instead ?? []
  if (words.length === 0 || (usual !== undefined && !words.includes(usual)))
    throw new Error(`its README does not say “npm install … ${usual ?? ''}”`)
  const startMs = performance.now()
  await npm(folder, usual === undefined ? words : words.map((word) => (word === usual ? other! : word)))
  const program = PROGRAM.exec(readme)?.[1] ?? ''
  if (PORT.test(program)) {
    const port = await freePort()
    const tsconfigRaw = { compilerOptions: { experimentalDecorators: true } } // required by Nest
    const { code } = await transform(program.replace(PORT, String(port)), { loader: 'ts', tsconfigRaw })
    writeFileSync(join(folder, 'server.js'), code)
    await greeting(folder, port, variant.runtime)
  } else {
    const imports = entriesOf(tarball.manifest).map((entry) => `import '${entry}'`)
    writeFileSync(join(folder, 'imports.js'), imports.join('\n'))
    await run(folder, process.execPath, 'imports.js')
  }
  return performance.now() - startMs
}

async function npm(folder: string, words: readonly string[]): Promise<void> {
  const { stderr } = await runLoud(folder, 'npm', ...words, ...QUIETLY)
  if (MISFIT.test(stderr)) throw new Error(stderr)
}

/**
 * Installs the packages of a `fetch` example in a fresh folder, and sends it a request. Returns the duration in
 * milliseconds.
 */
export async function runExample(registry: Registry, example: Example): Promise<number> {
  const folder = freshFolder('example')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  registry.use(folder)
  const startMs = performance.now()
  await npm(folder, ['install', '@fairlead/core', ...example.packages.map((name) => `${name}@${versionOf(name)}`)])
  writeFileSync(join(folder, 'program.js'), await programOf(example))
  const printed = await run(folder, process.execPath, 'program.js')
  if (!printed.includes(example.answer)) throw new Error(`${example.title} answered ${printed}`)
  return performance.now() - startMs
}

/** A program of a page that answers at port 3000, or at the runtime's port. */
export interface PageProgram {
  readonly title: string
  /** Index among the page's programs, from 0. */
  readonly at: number
  readonly runtime?: (port: number) => Runtime
}

/** The same with a program of the page about handlers, which depends only on core. */
export async function runPageProgram(registry: Registry, { at, runtime }: PageProgram): Promise<number> {
  const folder = freshFolder('page')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  registry.use(folder)
  const page = readFileSync(join(ROOT, 'docs/http-handlers.md'), 'utf8')
  const program = [...page.matchAll(new RegExp(PROGRAM, 'g'))][at]?.[1] ?? ''
  const startMs = performance.now()
  await npm(folder, ['install', '@fairlead/core'])
  const port = await freePort()
  const { code } = await transform(program.replace(PORT, String(port)), { loader: 'ts' })
  writeFileSync(join(folder, 'server.js'), code)
  await greeting(folder, port, runtime?.(port))
  return performance.now() - startMs
}

/** The same with the example's route in a Next application, run by Next's server. */
export async function runNextApp(registry: Registry): Promise<number> {
  const folder = freshFolder('next')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  registry.use(folder)
  const route = join(folder, 'app/items/[id]')
  mkdirSync(route, { recursive: true })
  writeFileSync(join(folder, 'app/layout.js'), 'export default ({ children }) => children\n')
  writeFileSync(join(route, 'route.js'), await moduleOf('next-route'))
  const startMs = performance.now()
  await npm(folder, ['install', '@fairlead/core', 'next@16', 'react@19', 'react-dom@19'])
  const port = await freePort()
  const next = ['node_modules/next/dist/bin/next', 'dev', '-p', String(port)]
  await greeting(folder, port, NODE, next, '/items/hello')
  return performance.now() - startMs
}

const WORKER = `
import { fairMiddleware } from '@fairlead/hono'
import { Hono } from 'hono'
const app = new Hono()
app.use(fairMiddleware())
app.get('/', (c) => c.text('hello'))
export default app
`
const WRANGLER = { name: 'worker', main: 'worker.js', compatibility_date: '2026-07-01' }

/** The same with a worker bundled by Wrangler: the bundle that it would upload must answer. */
export async function runWorker(registry: Registry): Promise<number> {
  const folder = freshFolder('wrangler')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  writeFileSync(join(folder, 'wrangler.json'), JSON.stringify(WRANGLER))
  writeFileSync(join(folder, 'worker.js'), WORKER)
  registry.use(folder)
  const startMs = performance.now()
  await npm(folder, ['install', '@fairlead/hono', 'hono', 'wrangler@4'])
  await run(folder, 'npx', 'wrangler', 'deploy', '--dry-run', '--outdir', 'out')
  const answer = await answerOnWorkerd(readFileSync(join(folder, 'out/worker.js'), 'utf8'))
  if (answer !== 'hello') throw new Error(`the worker answered ${answer}`)
  return performance.now() - startMs
}

/** Runs server.js of `folder`, or another program, until it has answered. */
async function greeting(
  folder: string,
  port: number,
  [command, ...args]: Runtime = NODE,
  program = ['server.js'],
  path = '/',
): Promise<void> {
  // The console's program reads its password there.
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', PORT: String(port), CONSOLE_PASSWORD: 'of-a-test' }
  const child = spawn(command, [...args, ...program], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] })
  const exit = once(child, 'exit')
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  try {
    for (;;) {
      if (child.exitCode !== null) throw new Error(`the program of its README ended: ${complaints}`)
      const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined)
      const body = await response?.text()
      if (body === undefined) await new Promise((resolve) => setTimeout(resolve, 50))
      else if (/hello/i.test(body)) break
      else throw new Error(`the program of its README answered ${response?.status} ${body}`)
    }
  } finally {
    child.kill()
    await exit
  }
  if (complaints !== '') throw new Error(`the program of its README complained: ${complaints}`)
}
