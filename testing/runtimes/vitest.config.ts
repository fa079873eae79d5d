import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { BUILT, builtPackages } from './src/built-packages.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
/** A demonstration that measures, so it must run alone. */
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
        // Many of them wait: one more than there are processors, on the smallest machine that runs them.
        maxWorkers: 3,
        sequence: { groupOrder: 0 },
        // All packages run at once: the limit is for hanging tests, not for slow ones.
        testTimeout: 180_000,
      },
    })),
  },
})

export default config
