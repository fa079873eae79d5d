import { defineProject, type UserProjectConfigExport } from 'vitest/config'

const config: UserProjectConfigExport = defineProject({
  test: { name: 'docs', include: ['src/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
})

export default config
