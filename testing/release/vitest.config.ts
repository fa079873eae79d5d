import { defineProject, type UserProjectConfigExport } from 'vitest/config'

const config: UserProjectConfigExport = defineProject({
  test: { name: 'release', include: ['src/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 300_000 },
})

export default config
