import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { shared } from './vitest.shared.ts'

interface Manifest {
  readonly name: string
  readonly scripts?: { readonly test?: string }
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(new URL(`${folder}/package.json`, import.meta.url), 'utf8')) as Manifest

/** Packages with many tests, or with other ones than Vitest's: the `test` script of the repository names their tasks. */
const named = manifestOf('.').scripts!.test!.split(' ')
/** Packages whose files each need a process: projects of their own. */
const ISOLATED = ['packages/hono']

/** All other packages. */
const folders = ['packages', 'testing', 'examples']
  .flatMap((kind) => readdirSync(new URL(kind, import.meta.url)).map((name) => `${kind}/${name}`))
  .filter((folder) => {
    const { name, scripts } = manifestOf(folder)
    return scripts?.test !== undefined && !named.includes(`${name}#test`) && !ISOLATED.includes(folder)
  })

/** One project: each would start processes of its own, and load the core and the frameworks there again. */
const config: ViteUserConfig = defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      ...ISOLATED,
      {
        test: {
          ...shared,
          name: 'small',
          include: folders.map((folder) => `${folder}/src/**/*.test.ts`),
          exclude: ['**/*.wide.test.ts'],
          setupFiles: ['./testing/oracles/src/property-seed.ts'],
          // Watchdogs for hanging tests.
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})

export default config
