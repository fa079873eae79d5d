// Makes dist/assets.js, and its CommonJS form: the page's script and style, and the what-if's worker, as texts. Runs after tsc.
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const page = new URL('src/page/', import.meta.url)

async function bundled(file) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(file, page))],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: ['chrome110', 'firefox115', 'safari16'],
    platform: 'browser',
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    conditions: ['browser', 'workerd'],
    external: ['node:*'],
  })
  // Nothing in a script may look as if the script ended there.
  return outputFiles[0].text.trim().replaceAll('</script', '<\\/script')
}

const hash = (text) => `sha256-${createHash('sha256').update(text).digest('base64')}`
const [script, style, worker] = await Promise.all(['main.tsx', 'style.css', 'what-if-worker.ts'].map(bundled))
const assets = { SCRIPT: script, SCRIPT_HASH: hash(script), STYLE: style, STYLE_HASH: hash(style), WORKER: worker }
const texts = Object.entries(assets).map(([name, text]) => [name, JSON.stringify(text)])
await mkdir(new URL('dist/cjs/', import.meta.url), { recursive: true })
for (const [file, lineOf] of [
  ['dist/assets.js', ([name, text]) => `export const ${name} = ${text}\n`],
  ['dist/cjs/assets.js', ([name, text]) => `exports.${name} = ${text}\n`],
])
  await writeFile(new URL(file, import.meta.url), texts.map(lineOf).join(''))
