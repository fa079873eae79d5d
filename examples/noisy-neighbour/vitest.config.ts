import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

const config: UserProjectConfigExport = defineProject({
  test: {
    ...shared,
    name: 'noisy-neighbour',
    include: ['src/**/*.test.ts'],
    testTimeout: 180_000,
    setupFiles: ['@fairlead-testing/oracles/property-seed'],
  },
})

export default config
