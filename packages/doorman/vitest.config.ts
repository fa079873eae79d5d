import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

// `pnpm test:deep` gives properties hundreds of times as many runs.
const isDeep = process.env['FAIRLEAD_PROPERTY_RUNS'] !== undefined

const config: UserProjectConfigExport = defineProject({
  test: {
    ...shared,
    name: 'doorman',
    // Most of the time these tests wait for leases and elections.
    maxWorkers: 3,
    sequence: { groupOrder: 1 },
    include: ['src/**/*.test.ts'],
    setupFiles: ['@fairlead-testing/oracles/property-seed'],
    globalSetup: './src/fixtures/install-etcd.ts',
    testTimeout: isDeep ? 7_200_000 : 120_000,
    hookTimeout: 120_000,
  },
})

export default config
