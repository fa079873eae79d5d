import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

const config: UserProjectConfigExport = defineProject({
  test: { ...shared, name: 'release', include: ['src/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 300_000 },
})

export default config
