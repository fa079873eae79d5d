import { defineProject, type UserProjectConfigExport } from 'vitest/config'

// Its tests change globals, and load modules anew: each file has a process, and nothing is left to Node.
const config: UserProjectConfigExport = defineProject({
  test: { name: 'hono', include: ['src/**/*.test.ts'], testTimeout: 180_000 },
})

export default config
