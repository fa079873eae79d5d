import { defineProject, type UserProjectConfigExport } from 'vitest/config'

// `pnpm test:deep` gives properties a hundred times as many runs.
const isDeep = process.env['FAIRLEAD_PROPERTY_RUNS'] !== undefined

const config: UserProjectConfigExport = defineProject({
  test: {
    name: 'doorman',
    include: ['src/**/*.test.ts'],
    globalSetup: './src/fixtures/install-etcd.ts',
    testTimeout: isDeep ? 7_200_000 : 120_000,
    hookTimeout: 120_000,
  },
})

export default config
