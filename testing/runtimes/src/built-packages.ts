import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Plugin } from 'vitest/config'

/** Built files of our packages. Node must load them itself, as for users. */
export const BUILT: RegExp = /\/packages\/[^/]+\/dist\//

const SOURCE = /^(.*\/packages\/[^/]+)\/src\/(.+)$/
const TEST_ONLY = /\.test\.|\/fixtures\/|\.json$/

/**
 * Lets tests, which import the sources beside them, use the built files instead. A package whose modules are built into
 * few files has none for most sources: its own tests run on the sources, those of other packages on the built files.
 */
export function builtPackages(): Plugin {
  return {
    name: 'built-packages',
    enforce: 'pre',
    resolveId(id, importer): string | undefined {
      if (importer === undefined || !id.startsWith('.')) return undefined
      const path = resolve(dirname(importer), id)
      const [, root, file] = SOURCE.exec(path) ?? []
      if (root === undefined || TEST_ONLY.test(path)) return undefined
      if (existsSync(`${root}/dist/chunks`)) return undefined
      const built = `${root}/dist/${file}`
      if (!existsSync(built)) throw new Error(`${built} was not built`)
      return built
    },
  }
}
