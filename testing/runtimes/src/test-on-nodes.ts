/**
 * Runs the tests of all packages and their examples, against the packages as built, on the oldest and every later
 * supported Node.
 *
 *     pnpm test:runtimes [--node 20 --node 26] [part of the names of the test files to run]
 *
 * Fails if a test does, and if a Node is not installed for this platform: it never skips one.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { node20, node22, node24, node26 } from './index.js'

const NODES = new Map([
  ['20', node20],
  ['22', node22],
  ['24', node24],
  ['26', node26],
])
const VITEST = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const CONFIG = fileURLToPath(new URL('../vitest.config.ts', import.meta.url))

async function passes(node: string, files: readonly string[]): Promise<boolean> {
  // Tests start programs by `process.execPath`, which may in turn start `node`.
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH']}` }
  const args = [VITEST, 'run', '--config', CONFIG, ...files]
  const [code] = await once(spawn(node, args, { env, stdio: 'inherit' }), 'exit')
  return code === 0
}

const { values, positionals } = parseArgs({
  options: { node: { type: 'string', multiple: true, default: [...NODES.keys()] } },
  allowPositionals: true,
})
for (const name of values.node)
  if (!NODES.has(name)) throw new RangeError(`--node is one of ${[...NODES.keys()].join(', ')}; got '${name}'`)

const verdicts: string[] = []
for (const name of values.node) {
  const node = NODES.get(name)
  const startMs = performance.now()
  const passed = node !== undefined && (await passes(node, positionals))
  if (!passed) process.exitCode = 1
  const verdict =
    node === undefined ? 'FAILED: not installed, it comes for linux-x64 only' : passed ? 'passed' : 'FAILED'
  verdicts.push(`Node ${name}: ${verdict} (${Math.round((performance.now() - startMs) / 1_000)} s)`)
}
console.log(verdicts.join('\n'))
