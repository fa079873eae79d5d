/**
 * Builds the CommonJS form of the package in the current folder, into dist/cjs.
 *
 * Node itself never loads it: through the condition `module-sync`, `require` gets the same modules as `import`, so that
 * a process has each of them once. It is for tools that cannot require ES modules (Jest), and for TypeScript's
 * `node16`.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'

const OUT = join('dist', 'cjs')
const CONFIG = ['-p', 'tsconfig.build.json', '--outDir', OUT, '--module', 'commonjs']
// The compiler has checked the same files for the ES modules.
const OPTIONS = [...CONFIG, '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false', '--noCheck']

const { status } = spawnSync('tsc', OPTIONS, { stdio: 'inherit', shell: true })
if (status !== 0) process.exit(1)

// A separate package.json declares the format of these files. It hides the package's `imports`, so they are resolved
// here.
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
