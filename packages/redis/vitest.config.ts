import { defineProject, type UserProjectConfigExport } from 'vitest/config'

const config: UserProjectConfigExport = defineProject({
  test: {
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
