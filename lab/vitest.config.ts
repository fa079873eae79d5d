import { defineProject, type UserProjectConfigExport } from 'vitest/config'

const config: UserProjectConfigExport = defineProject({ test: { name: 'lab', include: ['src/**/*.test.ts'] } })

export default config
