import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

const config: UserProjectConfigExport = defineProject({
  test: {
    ...shared,
    name: 'redis',
    include: ['src/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Most of the time these tests wait for windows to end.
    maxWorkers: 3,
    sequence: { groupOrder: 1 },
  },
})

export default config
