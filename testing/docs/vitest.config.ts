import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

const config: UserProjectConfigExport = defineProject({
  test: { ...shared, name: 'docs', include: ['src/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
})

export default config
