import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { shared } from '../../vitest.shared.ts'

/** Runs the tests of `@fairlead/nest` with the Nest installed in `folder`. */
export function nestTests(major: number, folder: string): ViteUserConfig {
  return defineConfig({
    root: fileURLToPath(new URL('../../packages/nest', import.meta.url)),
    resolve: {
      alias: [{ find: /^(@nestjs\/[a-z-]+|@apollo\/server|fastify)$/, replacement: `${folder}/node_modules/$1` }],
    },
    test: {
      ...shared,
      name: `nest ${major}`,
      include: ['src/**/*.test.ts'],
      env: { FAIRLEAD_NEST: `${major}`, FAIRLEAD_CROWD: '1000', FAIRLEAD_WIDE: '1' },
      testTimeout: 180_000,
    },
  })
}
