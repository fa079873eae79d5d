import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

const config: UserProjectConfigExport = defineProject({
  test: {
    ...shared,
    // Some servers of these tests replace `Response` in their process.
    isolate: true,
    name: 'console',
    include: ['src/**/*.test.ts'],
    // Watchdogs for hanging tests: a browser is slow on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
  },
})

export default config
