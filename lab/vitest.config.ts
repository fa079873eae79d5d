import { defineProject, type UserProjectConfigExport } from 'vitest/config'

// `pnpm test:deep` gives properties hundreds of times as many runs.
const isDeep = process.env['FAIRLEAD_PROPERTY_RUNS'] !== undefined

const config: UserProjectConfigExport = defineProject({
  test: { name: 'lab', include: ['src/**/*.test.ts'], testTimeout: isDeep ? 7_200_000 : 180_000 },
})

export default config
