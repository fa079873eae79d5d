import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { remark } from 'remark'
import remarkValidateLinks from 'remark-validate-links'
import { engine, type Options } from 'unified-engine'
import { describe, expect, it } from 'vitest'
import { pagePaths, ROOT } from './repository.js'

/** Broken links between pages: missing files and headings. */
async function brokenLinks({ cwd, files }: Pick<Options, 'cwd' | 'files'>): Promise<string> {
  const streamError = new PassThrough()
  const plugins = [[remarkValidateLinks, { repository: false }]] as Options['plugins']
  await new Promise<void>((resolve, reject) => {
    engine(
      {
        processor: remark(),
        plugins,
        cwd,
        files,
        detectIgnore: false,
        out: false,
        quiet: true,
        color: false,
        streamError,
      },
      (error) => (error ? reject(error) : resolve()),
    )
  })
  streamError.end()
  return text(streamError)
}

describe('links in the documentation', () => {
  it('lead to files and headings that are there', async () => {
    expect(await brokenLinks({ cwd: ROOT, files: pagePaths() })).toBe('')
  })

  it('would be found broken', async () => {
    const cwd = new URL('fixtures/', import.meta.url)
    const found = await brokenLinks({ cwd, files: ['broken-links.md'] })
    expect(found).toMatch(/Cannot find file `nowhere\.md`/)
    expect(found).toMatch(/Cannot find heading for `#nothing`/)
    expect(found).toMatch(/2 warnings/)
  })
})
