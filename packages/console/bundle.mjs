// Makes the parts that tsc does not, for both module systems: the console's page, the what-if's worker and the style of
// the views as texts, in dist/assets.js, and the views with their renderer, in dist/views-bundle.js. Runs after tsc.
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

async function bundled(file, format = 'esm') {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`src/${file}`, import.meta.url))],
    bundle: true,
    minify: true,
    write: false,
    format,
    target: ['chrome110', 'firefox115', 'safari16'],
    platform: 'browser',
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    conditions: ['browser', 'workerd'],
    external: ['node:*'],
  })
  return outputFiles[0].text.trim()
}

const hash = (text) => `sha256-${createHash('sha256').update(text).digest('base64')}`
const textFiles = ['page/main.tsx', 'page/style.css', 'page/what-if-worker.ts', 'views/style.css']
// A script must not contain its own end tag.
const texts = (await Promise.all(textFiles.map((file) => bundled(file)))).map((text) =>
  text.replaceAll('</script', '<\\/script'),
)
const [script, style, worker, styleOfViews] = texts
const assets = Object.entries({
  SCRIPT: script,
  SCRIPT_HASH: hash(script),
  STYLE: style,
  STYLE_HASH: hash(style),
  STYLE_OF_VIEWS: styleOfViews,
  WORKER: worker,
}).map(([name, text]) => [name, JSON.stringify(text)])
const files = {
  'assets.js': assets.map(([name, text]) => `export const ${name} = ${text}\n`).join(''),
  'cjs/assets.js': assets.map(([name, text]) => `exports.${name} = ${text}\n`).join(''),
  'views-bundle.js': await bundled('views/drawn.tsx'),
  'cjs/views-bundle.js': await bundled('views/drawn.tsx', 'cjs'),
}
await mkdir(new URL('dist/cjs/', import.meta.url), { recursive: true })
for (const [file, text] of Object.entries(files)) await writeFile(new URL(`dist/${file}`, import.meta.url), text)
