import { defineProject, type UserProjectConfigExport } from 'vitest/config'

const config: UserProjectConfigExport = defineProject({
  test: { name: 'example-fetch', include: ['src/**/*.test.ts'], testTimeout: 180_000 },
})

export default config
