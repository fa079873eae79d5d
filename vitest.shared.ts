import type { InlineConfig } from 'vitest/node'

/** What the tests of all packages have in common. */
export const shared: Pick<InlineConfig, 'exclude' | 'hookTimeout' | 'isolate' | 'server'> = {
  // `pnpm test:wide` runs these.
  exclude: process.env['FAIRLEAD_WIDE'] === undefined ? ['src/**/*.wide.test.ts'] : [],
  // Hooks start servers, on machines that may be busy.
  hookTimeout: 60_000,
  // A process for each file takes longer than most files.
  isolate: false,
  // Node loads the built packages, as for users: Vite would transform them again for each package that has them.
  server: { deps: { external: [/\/(packages|testing)\/[^/]+\/dist\//] } },
}
