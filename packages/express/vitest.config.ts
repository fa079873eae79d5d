import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

const config: UserProjectConfigExport = defineProject({
  test: { ...shared, name: 'express', include: ['src/**/*.test.ts'], testTimeout: 180_000 },
})

export default config
