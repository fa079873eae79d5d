import { defineConfig, type ViteUserConfig } from 'vitest/config'

/**
 * The packages whose tests take about as long as a start of Vitest: one start for all of them. The others each have a
 * task in the `test` script of the repository; a package that is named in neither runs here.
 */
const config: ViteUserConfig = defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      'packages/*',
      'testing/*',
      'examples/*',
      '!packages/{console,core,doorman,redis}',
      '!testing/{budgets,docs,nest10,nest11,release}',
    ],
  },
})

export default config
