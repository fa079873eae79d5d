import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Example } from './page.js'

const PACKAGE = fileURLToPath(new URL('../', import.meta.url))
const TSC = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
const COMPLAINT = /^(\S+\.ts)\((\d+),\d+\): error (.*)$/

/** The compiler's messages about examples, by page and line, and the location of their JavaScript. */
export interface Compiled {
  /** For example `docs/fair.md:12 TS2304: Cannot find name 'x'.` */
  readonly complaints: readonly string[]
  /** The file compiled from a block. */
  program(example: Example): string
}

/**
 * Compiles examples as strictly as the repository itself, except that names may be unused; each is a module of its own.
 * `name` is the name of a folder in this package's `dist`, from which imports are resolved as in users' projects.
 */
export function compile(examples: readonly Example[], name: string): Compiled {
  const folder = join(PACKAGE, 'dist', name)
  rmSync(folder, { recursive: true, force: true })
  const files = new Map(examples.map((example) => [`${example.page}/${example.line}.ts`, example]))
  for (const [file, { source }] of files) {
    write(join(folder, file), source.map(({ text }) => text).join('\n'))
  }
  const compilerOptions = {
    noEmit: false,
    rootDir: '.',
    outDir: 'js',
    lib: ['es2023', 'esnext.disposable'],
    experimentalDecorators: true, // required by Nest
    declaration: false,
    declarationMap: false,
    isolatedDeclarations: false,
    noUnusedLocals: false,
    noUnusedParameters: false,
  }
  const config = { extends: '../../../../tsconfig.base.json', compilerOptions, files: [...files.keys()] }
  write(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const { stdout } = spawnSync(process.execPath, [TSC, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  })
  const complaints: string[] = []
  for (const text of stdout.trimEnd().split('\n')) {
    const [, file = '', line = '', message = ''] = COMPLAINT.exec(text) ?? []
    const example = files.get(file)
    if (example) complaints.push(`${example.page}:${example.source[Number(line) - 1]?.line} ${message}`)
    else if (text.startsWith('  ')) complaints.push(`${complaints.pop()} ${text.trim()}`)
    else if (text !== '') complaints.push(text)
  }
  return { complaints, program: ({ page, line }) => join(folder, 'js', page, `${line}.js`) }
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
