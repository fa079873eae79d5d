import type { ViteUserConfig } from 'vitest/config'
import { nestTests } from '../nest11/nest-tests.ts'

const config: ViteUserConfig = nestTests(10, import.meta.dirname)

export default config
