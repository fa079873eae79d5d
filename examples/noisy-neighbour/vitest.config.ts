import { defineProject, type UserProjectConfigExport } from 'vitest/config'

const config: UserProjectConfigExport = defineProject({
  test: {
    name: 'noisy-neighbour',
    include: ['src/**/*.test.ts'],
    exclude: process.env['FAIRLEAD_WIDE'] === undefined ? ['src/**/*.wide.test.ts'] : [],
    testTimeout: 180_000,
    setupFiles: ['@fairlead-testing/oracles/property-seed'],
    isolate: false,
  },
})

export default config
