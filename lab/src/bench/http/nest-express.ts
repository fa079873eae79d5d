import { ExpressAdapter } from '@nestjs/platform-express'
import type { Framework } from './framework.js'
import { nestOn } from './nest.js'

/** Nest on Express. */
export const framework: Framework = nestOn('Nest on Express', () => new ExpressAdapter())
