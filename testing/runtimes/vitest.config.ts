import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { BUILT, builtPackages } from './src/built-packages.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
/** A demonstration that measures, and wants the machine to itself. */
const ALONE = 'noisy-neighbour'

const folders = ['packages', 'examples']
  .flatMap((kind) => readdirSync(`${REPOSITORY}${kind}`).map((name) => `${REPOSITORY}${kind}/${name}`))
  .filter((folder) => !folder.endsWith(ALONE) && existsSync(`${folder}/vitest.config.ts`))

/** Every package's and example's own tests, against the packages as built. */
const config: ViteUserConfig = defineConfig({
  test: {
    projects: folders.map((root) => ({
      root,
      extends: `${root}/vitest.config.ts`,
      plugins: [builtPackages()],
      test: {
        server: { deps: { external: [BUILT] } },
        // All packages at once: a watchdog for what hangs, and not for what is slow beside others.
        testTimeout: 180_000,
      },
    })),
  },
})

export default config
