import { FastifyAdapter } from '@nestjs/platform-fastify'
import type { Framework } from './framework.js'
import { nestOn } from './nest.js'

/** Nest on Fastify. */
export const framework: Framework = nestOn('Nest on Fastify', () => new FastifyAdapter())
