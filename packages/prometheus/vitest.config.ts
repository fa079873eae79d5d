import { defineProject, type UserProjectConfigExport } from 'vitest/config'

const config: UserProjectConfigExport = defineProject({
  test: { name: 'prometheus', include: ['src/**/*.test.ts'], testTimeout: 180_000, isolate: false },
})

export default config
