import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { BUILT, builtPackages } from './src/built-packages.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const folders = ['packages', 'examples'].flatMap((kind) =>
  readdirSync(`${REPOSITORY}${kind}`).map((name) => `${REPOSITORY}${kind}/${name}`),
)

/** Every package's and example's own tests, against the packages as built. */
const config: ViteUserConfig = defineConfig({
  test: {
    projects: folders.map((root) => ({
      root,
      extends: `${root}/vitest.config.ts`,
      plugins: [builtPackages()],
      test: { server: { deps: { external: [BUILT] } } },
    })),
  },
})

export default config
