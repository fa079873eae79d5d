import { defineProject, type UserProjectConfigExport } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

// `pnpm test:deep` gives properties hundreds of times as many runs.
const isDeep = Number(process.env['FAIRLEAD_PROPERTY_RUNS'] ?? 0) > 1_000

// The longest takes ten seconds by itself: a watchdog for what hangs, and not for what is slow beside others.
const config: UserProjectConfigExport = defineProject({
  resolve: {
    alias: {
      '#channels': new URL('./src/node/channels.ts', import.meta.url).pathname,
      '#processes': new URL('./src/fair/shared/processes.ts', import.meta.url).pathname,
      '#runtime': new URL('./src/fetch/runtime/node.ts', import.meta.url).pathname,
    },
  },
  test: {
    ...shared,
    name: 'core',
    include: ['src/**/*.test.ts'],
    setupFiles: ['@fairlead-testing/oracles/property-seed'],
    testTimeout: isDeep ? 7_200_000 : 180_000,
  },
})

export default config
