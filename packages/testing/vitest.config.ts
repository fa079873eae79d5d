import { defineProject, type UserProjectConfigExport } from 'vitest/config'

const config: UserProjectConfigExport = defineProject({
  test: { name: 'testing', include: ['src/**/*.test.ts'], testTimeout: 120_000, isolate: false },
})

export default config
