import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundleVariant, constantsOf, withConstant } from './variant.js'

const source = `import { a } from './a.js'
/** Of which. */
const TURN_SECONDS = 2
export const LEAST = 1e-9
const MOST = 1_600
const names = ['a']
const LATER = TURN_SECONDS * 2
`

describe('the constants of a module', () => {
  it('are those that are plain numbers', () => {
    expect([...constantsOf(source)]).toEqual([
      ['TURN_SECONDS', 2],
      ['LEAST', 1e-9],
      ['MOST', 1_600],
    ])
  })

  it('are changed one at a time', () => {
    const changed = withConstant(source, { name: 'MOST', value: 0.5 })
    expect(changed).toContain('const MOST = 0.5\n')
    expect(changed.replace('0.5', '1_600')).toBe(source)
  })

  it('that are not there are told', () => {
    expect(() => withConstant(source, { name: 'LATER', value: 1 })).toThrow('no constant LATER')
  })
})

describe('a variant of the fair clock', () => {
  const entry = fileURLToPath(new URL('./rules.ts', import.meta.url))

  async function inFolder(): Promise<string> {
    const folder = await mkdtemp(fileURLToPath(new URL('./variant-', import.meta.url)))
    onTestFinished(() => rm(folder, { recursive: true }))
    return join(folder, 'rules.mjs')
  }

  it('is the whole program, with another constant', async () => {
    const outfile = await inFolder()
    await bundleVariant(entry, [{ file: 'fair/clock/proof', name: 'SETTLES', value: 0.017 }], outfile)
    expect(await readFile(outfile, 'utf8')).toMatch(/^var SETTLES = 0.017;$/m)
    expect(await import(outfile)).toHaveProperty('RULES')
  })

  it('rejects where there is no such constant', async () => {
    const change = { file: 'fair/clock/proof', name: 'NONE', value: 1 }
    await expect(bundleVariant(entry, [change], await inFolder())).rejects.toThrow('no constant NONE')
  })
})
