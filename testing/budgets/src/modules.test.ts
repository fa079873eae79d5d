import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'

/** Prints the URL of each module that Node loads. */
const HOOKS = `export async function load(url, context, next) {
  process._rawDebug(url)
  return next(url, context)
}`

/** Our modules that a program loads, as reported by Node's loader. */
function modulesOf(source: string): string[] {
  const register = `import { register } from 'node:module'; register('data:text/javascript,${encodeURIComponent(HOOKS)}')`
  const hook = `data:text/javascript,${encodeURIComponent(register)}`
  const { stderr, status } = spawnSync(process.execPath, ['--import', hook, '--input-type=module', '--eval', source], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  })
  expect(status).toBe(0)
  return stderr.split('\n').filter((line) => /\/packages\/[^/]+\/dist\//.test(line))
}

it('a gate alone loads at most 20 modules', () => {
  const modules = modulesOf("import { createGate } from '@fairlead/core'; createGate()")
  expect(modules.length).toBeGreaterThan(0)
  expect(modules.length).toBeLessThanOrEqual(20)
})

/** The adapters export the makers of all mechanisms, so a process loads them; a bundle drops them. */
it('Express loads at most 40 modules', () => {
  const modules = modulesOf("import { fairMiddleware } from '@fairlead/express'; fairMiddleware()")
  expect(modules.length).toBeGreaterThan(0)
  expect(modules.length).toBeLessThanOrEqual(40)
})
