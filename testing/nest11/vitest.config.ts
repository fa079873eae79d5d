import type { ViteUserConfig } from 'vitest/config'
import { nestTests } from './nest-tests.ts'

const config: ViteUserConfig = nestTests(11, import.meta.dirname)

export default config
