/**
 * Builds the CommonJS form of the package in the current folder, into dist/cjs.
 *
 * Node itself never loads it: the condition `module-sync` gives `require` the same modules that `import` has, so that
 * a process has each of them once. It is for what cannot require ES modules (Jest), and for TypeScript's `node16`.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'

const OUT = join('dist', 'cjs')
const CONFIG = ['-p', 'tsconfig.build.json', '--outDir', OUT, '--module', 'commonjs']
const OPTIONS = [...CONFIG, '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false']

const { status } = spawnSync('tsc', OPTIONS, { stdio: 'inherit', shell: true })
if (status !== 0) process.exit(1)

// A package.json of its own says what these files are. That hides the package's `imports`, so they are resolved here.
writeFileSync(join(OUT, 'package.json'), '{ "type": "commonjs" }\n')
const { imports = {} } = JSON.parse(readFileSync('package.json', 'utf8'))
for (const name of readdirSync(OUT, { recursive: true }).filter((file) => file.endsWith('.js'))) {
  const file = join(OUT, name)
  const code = readFileSync(file, 'utf8')
  const resolved = code.replace(/require\("(#[^"]+)"\)/g, (_, specifier) => {
    const target = join(OUT, relative('dist', imports[specifier].node ?? imports[specifier].default))
    return `require("./${relative(dirname(file), target).replaceAll(sep, '/')}")`
  })
  if (resolved !== code) writeFileSync(file, resolved)
}
