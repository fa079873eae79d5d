import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, it } from 'vitest'

/** Names of the values and types that a module exports. */
function exportsOf(specifier: string): string[] {
  const file = fileURLToPath(import.meta.resolve(specifier)).replace(/\.js$/, '.d.ts')
  const program = ts.createProgram([file], { module: ts.ModuleKind.NodeNext, noLib: true, types: [] })
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(file)!
  return checker.getExportsOfModule(checker.getSymbolAtLocation(source)!).map(({ name }) => name)
}

it('the default entry point exports at most 80 values and types', () => {
  const names = exportsOf('@fairlead/core')
  expect(names).toContain('createGate')
  expect(names.length).toBeLessThanOrEqual(80)
})

it('no two entry points export one name', () => {
  const entries = ['', '/queue', '/escrow', '/doorman'].map((entry) => `@fairlead/core${entry}`)
  const names = entries.flatMap(exportsOf)
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
})
