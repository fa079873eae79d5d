import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

const config: UserProjectConfigExport = defineProject({
  test: {
    ...shared,
    name: 'oracles',
    include: ['src/**/*.test.ts'],
    setupFiles: ['./src/property-seed.ts'],
    testTimeout: 120_000,
  },
})

export default config
