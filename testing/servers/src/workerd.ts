import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Miniflare, type WorkerOptions } from 'miniflare'

/** Bundles a worker as a deployment would; `conditions` are those by which its tool resolves packages. */
export async function bundleWorker(
  entry: URL,
  conditions: readonly string[] = ['workerd', 'worker', 'browser'],
): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    // Some dependencies are CommonJS.
    mainFields: ['module', 'main'],
    target: 'es2022',
    conditions: [...conditions],
    write: false,
  })
  return outputFiles[0]!.text
}

/**
 * Runs a bundled worker in workerd, as Cloudflare does; the caller disposes of it. `complain` receives workerd's error
 * messages.
 */
export async function startWorkerd(
  script: string,
  options: Partial<WorkerOptions> = {},
  complain: (text: string) => void = () => {},
): Promise<Miniflare> {
  process.env['MINIFLARE_WORKERD_PATH'] ??= workerdPath()
  const miniflare = new Miniflare({
    modules: true,
    script,
    compatibilityDate: '2026-07-01',
    host: '127.0.0.1',
    port: 0,
    handleRuntimeStdio: (_out: Readable, error: Readable) => void error.setEncoding('utf8').on('data', complain),
    ...options,
  })
  await miniflare.ready
  return miniflare
}

/** The binary itself: the install script that would put it where Miniflare looks for it does not run here. */
function workerdPath(): string {
  const fromMiniflare = createRequire(createRequire(import.meta.url).resolve('miniflare'))
  const fromWorkerd = createRequire(fromMiniflare.resolve('workerd'))
  const name = `@cloudflare/workerd-${process.platform}-${process.arch === 'x64' ? '64' : process.arch}`
  return join(dirname(fromWorkerd.resolve(`${name}/package.json`)), 'bin/workerd')
}
