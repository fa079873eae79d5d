/**
 * Builds the ES modules of the package in the current folder, into dist: one file for each entry point, and chunks of
 * shared code, so that a process that loads one mechanism opens a handful of files. The compiler writes the
 * declarations beside them.
 *
 * Entry points are the targets of `exports` and `imports` in package.json. Imports named in `imports` stay imports: the
 * runtime or the user's bundler chooses their targets.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { build } from 'esbuild'

const { exports, imports = {} } = JSON.parse(readFileSync('package.json', 'utf8'))
const targets = Object.values({ ...exports, ...imports }).flatMap((target) => Object.values(target))
const isModule = (file) => /^\.\/dist\/(?!cjs\/).*\.js$/.test(file)
const names = new Set(targets.filter(isModule).map((file) => file.slice('./dist/'.length, -'.js'.length)))

const { outputFiles } = await build({
  entryPoints: Object.fromEntries([...names].map((name) => [name, `src/${name}.ts`])),
  outdir: 'dist',
  chunkNames: 'chunks/[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'neutral',
  packages: 'external',
  external: ['node:*', '#*'],
  tsconfig: 'tsconfig.build.json',
  sourcemap: true,
  sourcesContent: false,
  // Puts the numbers of top-level constants where they are used: esbuild makes variables of these, which engines read
  // and check again at each use.
  minifySyntax: true,
  write: false,
  logLevel: 'warning',
})

// The names of chunks change with their contents.
rmSync('dist/chunks', { recursive: true, force: true })
for (const { path, text } of outputFiles) {
  mkdirSync(dirname(path), { recursive: true })
  // Imports for side effects only are removed: a module with side effects is an entry point of its own. The empty line
  // stays, for the source map.
  writeFileSync(path, text.replace(/^import "\.{1,2}\/(?:\.\.\/)*(?:chunks\/)?[A-Z0-9]+\.js";$/gm, ''))
}
