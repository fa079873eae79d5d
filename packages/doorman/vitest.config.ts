import { defineProject, type UserProjectConfigExport } from 'vitest/config'

const config: UserProjectConfigExport = defineProject({
  test: {
    name: 'doorman',
    include: ['src/**/*.test.ts'],
    globalSetup: './src/fixtures/install-etcd.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})

export default config
