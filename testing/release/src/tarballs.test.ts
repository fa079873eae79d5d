import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { publint } from 'publint'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packAll, ROOT, removeFolders, type Tarball } from './tarballs.js'

const REPOSITORY = 'https://github.com/fairlead/fairlead'

let tarballs: readonly Tarball[]
afterAll(removeFolders)
beforeAll(async () => {
  tarballs = await packAll()
})

describe('each tarball', () => {
  it('is there', () => {
    expect(tarballs.length).toBeGreaterThanOrEqual(10)
  })

  it('says whose it is and where to find help', () => {
    for (const { manifest, folder } of tarballs) {
      expect(manifest, folder).toMatchObject({
        name: `@fairlead/${folder}`,
        license: 'MIT',
        author: 'The Fairlead authors',
        homepage: `${REPOSITORY}/tree/main/packages/${folder}#readme`,
        bugs: `${REPOSITORY}/issues`,
        // npm rejects provenance unless this is the repository of the workflow.
        repository: { type: 'git', url: `git+${REPOSITORY}.git`, directory: `packages/${folder}` },
        engines: { node: '>=20.19' },
        publishConfig: { access: 'public', provenance: true },
      })
      expect(manifest['keywords'], folder).toEqual(expect.arrayContaining(['admission-control', 'rate-limit']))
      expect(manifest['description'], folder).toMatch(/.{20}/)
      expect(manifest, folder).toHaveProperty('sideEffects')
    }
  })

  it('has the license, a README, and the sources without tests', () => {
    const license = readFileSync(join(ROOT, 'LICENSE'), 'utf8')
    for (const { contents, folder } of tarballs) {
      expect(readFileSync(join(contents, 'LICENSE'), 'utf8'), folder).toBe(license)
      expect(readFileSync(join(contents, 'README.md'), 'utf8'), folder).toContain(`# @fairlead/${folder}`)
      expect(existsSync(join(contents, 'src/index.ts')), folder).toBe(true)
      expect(existsSync(join(contents, 'src/index.test.ts')), folder).toBe(false)
    }
  })

  it('depends on its siblings by the version that they are released with', () => {
    const versions = new Set(tarballs.map(({ manifest }) => manifest['version']))
    expect(versions.size).toBe(1)
    const [version] = versions
    const siblings = tarballs.flatMap(({ manifest }) => Object.entries(manifest.dependencies ?? {}))
    expect(siblings.filter(([name, range]) => name.startsWith('@fairlead/') && range !== `^${version}`)).toEqual([])
  })

  it('stands on what the page about stability says', () => {
    const page = readFileSync(join(ROOT, 'docs/stability.md'), 'utf8')
    const peers = tarballs.flatMap(({ manifest }) => Object.entries(manifest.peerDependencies ?? {}))
    expect(peers.length).toBeGreaterThan(5)
    for (const [name, range] of peers) {
      const ranges = range.split(' || ').map((part) => `\`${part}\``)
      expect(page).toContain(`| \`${name}\` | ${ranges.join(', ')} |\n`)
    }
  })

  it('has all files that its package.json names', () => {
    const missing = tarballs.flatMap(({ manifest, contents }) =>
      pathsIn([manifest.exports, manifest['main'], manifest['types'], manifest['typesVersions'], manifest['bin']])
        .flatMap((path) => (path.endsWith('.js') ? [path, path.replace(/\.js$/, '.d.ts')] : path))
        .filter((path) => !existsSync(join(contents, path)))
        .map((path) => `${manifest.name}: ${path}`),
    )
    expect(missing).toEqual([])
  })

  it('is what publint expects', async () => {
    for (const { folder, file } of tarballs) {
      const { messages } = await publint({ pack: { tarball: bytesOf(file).buffer }, strict: true })
      expect(messages, folder).toEqual([])
    }
  })
})

/** A file's bytes, in a separate buffer. */
function bytesOf(file: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(file))
}

/** All relative paths in a value. */
function pathsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.startsWith('./') ? [value] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(pathsIn) : []
}
