import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../vitest.shared.ts'

// `pnpm test:deep` runs properties with hundreds of times as many inputs.
const isDeep = process.env['FAIRLEAD_PROPERTY_RUNS'] !== undefined

const config: UserProjectConfigExport = defineProject({
  test: {
    ...shared,
    name: 'lab',
    include: ['src/**/*.test.ts'],
    testTimeout: isDeep ? 7_200_000 : 180_000,
    setupFiles: ['@fairlead-testing/oracles/property-seed'],
  },
})

export default config
