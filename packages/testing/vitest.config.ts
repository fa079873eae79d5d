import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

const config: UserProjectConfigExport = defineProject({
  test: {
    ...shared,
    name: 'testing',
    include: ['src/**/*.test.ts'],
    testTimeout: 120_000,
  },
})

export default config
