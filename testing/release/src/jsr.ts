/**
 * `@fairlead/core` as a JSR package, whose users need no build step: the same modules as on npm, each of which names
 * its declarations, and declarations that name each other's files.
 *
 *     pnpm release:jsr             publishes it, from a workflow that the registry trusts
 *     pnpm release:jsr --dry-run   checks all that the registry would
 */
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { deno } from '@fairlead-testing/runtimes'
import { freshFolder, type Manifest, packAll, removeFolders, runLoud } from './tarballs.js'

type Targets = Readonly<Record<string, string>>

/** Lets Deno publish the contents of a tarball, or check that it could; resolves with its output. */
export async function publishToJsr(contents: string, ...flags: readonly string[]): Promise<string> {
  if (deno === undefined) throw new Error('JSR needs Deno, which is not installed for this platform')
  const folder = stage(contents)
  const { stdout, stderr } = await runLoud(folder, deno, 'publish', ...flags)
  return stdout + stderr
}

/** A folder with the files for JSR, from the package in the folder `contents`. */
function stage(contents: string): string {
  const folder = freshFolder('jsr')
  const kept = ['dist', 'README.md', 'LICENSE']
  for (const name of kept) cpSync(join(contents, name), join(folder, name), { recursive: true, filter: isKept })
  for (const file of readdirSync(join(folder, 'dist'), { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, 'dist', file)
    if (file.endsWith('.d.ts')) edit(path, namingFiles)
    const types = path.replace(/\.js$/, '.d.ts')
    if (types !== path && existsSync(types))
      edit(path, (text) => `/* @ts-self-types="./${basename(types)}" */\n${text}`)
  }
  const { name, version, license, exports, imports } = JSON.parse(
    readFileSync(join(contents, 'package.json'), 'utf8'),
  ) as Manifest & {
    readonly exports: Readonly<Record<string, Targets | string>>
    readonly imports: Readonly<Record<string, Targets>>
  }
  const modules = Object.entries(exports).filter((entry): entry is [string, Targets] => typeof entry[1] === 'object')
  const settings = { name, version, license, exports: forDeno(modules), imports: forDeno(Object.entries(imports)) }
  writeFileSync(join(folder, 'deno.json'), JSON.stringify({ ...settings, publish: { include: kept } }, null, 2))
  return folder
}

const isKept = (path: string): boolean => !/\/cjs$|\.map$/.test(path)

/**
 * Makes imports in declarations name declarations: most of them belong to parts of a module, which have no code of
 * their own.
 */
const namingFiles = (text: string): string =>
  text.replace(/((?:from |import\()['"]\.{1,2}\/[^'"]*)\.js(?=['"])/g, '$1.d.ts')

const forDeno = (entries: readonly (readonly [string, Targets])[]): Targets =>
  Object.fromEntries(entries.map(([name, targets]) => [name, targets['deno'] ?? targets['default'] ?? '']))

function edit(path: string, change: (text: string) => string): void {
  writeFileSync(path, change(readFileSync(path, 'utf8')))
}

if (process.argv[1] === import.meta.filename) {
  try {
    const core = (await packAll()).find(({ folder }) => folder === 'core')!
    console.log(await publishToJsr(core.contents, '--allow-dirty', ...process.argv.slice(2)))
  } finally {
    removeFolders()
  }
}
