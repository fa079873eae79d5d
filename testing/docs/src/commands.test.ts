import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { commandsOf, problemOf } from './commands.js'
import { parsePage } from './page.js'
import { pagePaths, ROOT, textOf } from './repository.js'

const pages = pagePaths().map((path) => ({ path, text: textOf(path) }))
const commands = pages.flatMap(({ path, text }) =>
  parsePage(path, text)
    .others.filter(({ language }) => language === 'sh')
    .flatMap((block) => commandsOf(block.text)),
)
const quoted = pages.flatMap(({ text }) => [...text.matchAll(/`(pnpm [^`]+)`/g)].map(([, command = '']) => command))

describe('commands in the documentation', () => {
  it('name scripts that are there', () => {
    const named = [...commands, ...quoted].filter((command) => /\bpnpm\b/.test(command))
    expect(named.length).toBeGreaterThan(20)
    expect(named.flatMap((command) => problemOf(command) ?? [])).toEqual([])
  })

  it('would be found wrong', () => {
    expect(problemOf('npx pnpm@12.21.0 demo')).toBeUndefined()
    expect(problemOf('npx pnpm@12.21.0 dmo')).toContain('no script dmo')
    expect(problemOf('A=b pnpm --filter @fairlead/nowhere start')).toContain('no package @fairlead/nowhere')
    expect(problemOf('pnpm --filter @fairlead/lab start')).toContain('no script start')
  })

  it('give doorman flags that it has', () => {
    const main = `${ROOT}packages/doorman/dist/cli/main.js`
    const known = new Set(execFileSync(process.execPath, [main, '--help'], { encoding: 'utf8' }).match(/--[a-z-]+/g))
    const calls = commands.filter((command) => /^(?:npx )?doorman /.test(command))
    expect(calls.length).toBeGreaterThan(3)
    expect(calls.flatMap((call) => call.match(/--[a-z-]+/g) ?? []).filter((flag) => !known.has(flag))).toEqual([])
  })
})
