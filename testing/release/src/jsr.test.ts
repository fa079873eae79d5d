import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { publishToJsr } from './jsr.js'
import { packAll, removeFolders } from './tarballs.js'

describe('core on JSR', () => {
  let contents: string
  beforeAll(async () => {
    contents = (await packAll()).find(({ folder }) => folder === 'core')!.contents
  })
  afterAll(removeFolders)

  it('would be published: its types are known without inference, and check', async () => {
    const said = await publishToJsr(contents, '--dry-run', '--allow-dirty')
    expect(said).toContain('Dry run complete')
    expect(said).toContain('/dist/queue/index.js')
    expect(said).not.toContain('/cjs/')
  })

  it('would not be, if a type were missing', async () => {
    writeFileSync(join(contents, 'dist/clock.d.ts'), 'export type Nothing = Missing\n')
    await expect(publishToJsr(contents, '--dry-run', '--allow-dirty')).rejects.toThrow('Missing')
  })
})
