import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'

/**
 * The build and bundlers leave out imports of unused chunks. That is safe only while loading a module does nothing but
 * create values.
 */
const PACKAGE = dirname(createRequire(import.meta.url).resolve('@fairlead/core/package.json'))
const SOURCES = join(PACKAGE, 'src')

/** Calls with lasting effects, even if their result is used. */
const LEAVES_BEHIND =
  /^(on|once|addListener|addEventListener|setTimeout|setInterval|setImmediate|queueMicrotask|register|subscribe|observe|defineProperty|assign|setPrototypeOf|write)$/

function isDeclaration(statement: ts.Statement): boolean {
  return (
    ts.isImportDeclaration(statement) ||
    ts.isExportDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isVariableStatement(statement)
  )
}

/** The effects of loading a module with this text, except creating values, as `line: what`. */
function effectsOf(text: string): string[] {
  const source = ts.createSourceFile('module.ts', text, ts.ScriptTarget.ESNext, true)
  const effects: string[] = []
  const note = (node: ts.Node): void => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart())
    effects.push(`${line + 1}: ${node.getText().split('\n')[0]}`)
  }
  /** Functions of the module that are called while it loads are checked, too. */
  const own = new Map(
    source.statements.filter(ts.isFunctionDeclaration).map((declared) => [declared.name?.text, declared.body]),
  )
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && !ts.isClassStaticBlockDeclaration(node)) return
    if (ts.isPropertyDeclaration(node) && !node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword))
      return
    if (ts.isClassStaticBlockDeclaration(node) || ts.isAwaitExpression(node) || ts.isDeleteExpression(node)) note(node)
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) note(node)
    if (ts.isCallExpression(node)) {
      const name = node.expression.getText().split('.').at(-1)!
      if (LEAVES_BEHIND.test(name)) note(node)
      own.get(name)?.forEachChild(visit)
    }
    node.forEachChild(visit)
  }
  for (const statement of source.statements) {
    if (!isDeclaration(statement)) note(statement)
    visit(statement)
  }
  return effects
}

it('no module of core does anything when it is loaded, but those that its package names', () => {
  const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as { sideEffects: string[] }
  const named = new Set(manifest.sideEffects.map((file) => file.replace(/^\.\/dist\/(cjs\/)?(.*)\.js$/, '$2.ts')))
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.ts$/.test(file) && !/\.test\.ts$|fixtures\//.test(file))
    .map((file) => relative(SOURCES, join(SOURCES, file)))
  expect(files.length).toBeGreaterThan(100)
  const found = files.flatMap((file) =>
    effectsOf(readFileSync(join(SOURCES, file), 'utf8')).map((effect) => `${file}:${effect}`),
  )
  expect(found.filter((effect) => !named.has(effect.split(':')[0]!))).toEqual([])
  for (const file of named) expect(found.some((effect) => effect.startsWith(`${file}:`))).toBe(true)
})

it.each([
  'start()',
  'const timer = setInterval(() => {}, 1)',
  'globalThis.x = 1',
  'if (process.env.X) console.log(1)',
  'class A { static { register(A) } }',
  'class A { static b = register() }',
  'function go() { process.on("exit", stop) }\nconst x = go()',
  'export const x = await load()',
])('sees what a module does when it is loaded: %s', (text) => expect(effectsOf(text)).not.toEqual([]))
