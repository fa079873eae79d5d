import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, it } from 'vitest'

const PACKAGES = fileURLToPath(new URL('../../../packages/', import.meta.url))

const sources = readdirSync(PACKAGES)
  .flatMap((name) =>
    readdirSync(`${PACKAGES}${name}/src`, { recursive: true, encoding: 'utf8' }).map((file) => `${name}/src/${file}`),
  )
  .filter((file) => /\.tsx?$/.test(file) && !/\.test\.ts$|\/fixtures\//.test(file))
  .map((file) => ({ file, text: readFileSync(PACKAGES + file, 'utf8') }))

/** The types, interfaces and classes that a module declares. */
function typesOf({ file, text }: { file: string; text: string }): string[] {
  const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext)
  return statements.flatMap((statement) =>
    ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement) || ts.isClassDeclaration(statement)
      ? (statement.name?.text ?? [])
      : [],
  )
}

/** Names that stand for the same thing wherever they are declared. */
const SAME_THING = new Set([
  // of each adapter or exporter
  'FairMiddleware',
  'FairMiddlewareOptions',
  'InstrumentOptions',
  'Target',
  // the parts of a foreign object that a module uses
  'Global',
  'NodeRequest',
  'NodeResponse',
  'Socket',
  // what replaces it where there are no processes
  'SharedClockRule',
  // a tenant of a budget: in a process, and in the pool of several
  'Tenant',
  // short for a type of another module
  'Band',
])

it('no type name stands for two things', () => {
  expect(sources.length).toBeGreaterThan(300)
  const files = new Map<string, string[]>()
  for (const source of sources)
    for (const name of typesOf(source)) files.set(name, [...(files.get(name) ?? []), source.file])
  const twice = [...files].filter(([name, where]) => where.length > 1 && !SAME_THING.has(name))
  expect(twice.map(([name, where]) => `${name}: ${where.join(', ')}`)).toEqual([])
})

it('no file of core is longer than 450 lines', () => {
  const long = sources.filter(({ file, text }) => file.startsWith('core/') && text.split('\n').length > 451)
  expect(long.map(({ file }) => file)).toEqual([])
})
