import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

const config: UserProjectConfigExport = defineProject({
  test: {
    ...shared,
    name: 'testing',
    include: ['src/**/*.test.ts'],
    exclude: process.env['FAIRLEAD_WIDE'] === undefined ? ['src/**/*.wide.test.ts'] : [],
    testTimeout: 120_000,
  },
})

export default config
