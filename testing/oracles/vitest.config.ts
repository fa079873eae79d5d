import { defineProject, type UserProjectConfigExport } from 'vitest/config'

const config: UserProjectConfigExport = defineProject({
  test: {
    name: 'oracles',
    include: ['src/**/*.test.ts'],
    setupFiles: ['./src/property-seed.ts'],
    testTimeout: 120_000,
  },
})

export default config
