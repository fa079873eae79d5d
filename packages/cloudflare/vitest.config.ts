import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

const config: UserProjectConfigExport = defineProject({
  test: {
    ...shared,
    name: 'cloudflare',
    include: ['src/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})

export default config
