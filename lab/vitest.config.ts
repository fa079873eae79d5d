import { defineProject, type UserProjectConfigExport } from 'vitest/config'

// `pnpm test:deep` runs properties with hundreds of times as many inputs.
const isDeep = process.env['FAIRLEAD_PROPERTY_RUNS'] !== undefined

const config: UserProjectConfigExport = defineProject({
  test: {
    name: 'lab',
    include: ['src/**/*.test.ts'],
    exclude: process.env['FAIRLEAD_WIDE'] === undefined ? ['src/**/*.wide.test.ts'] : [],
    testTimeout: isDeep ? 7_200_000 : 180_000,
    setupFiles: ['@fairlead-testing/oracles/property-seed'],
    isolate: false,
  },
})

export default config
