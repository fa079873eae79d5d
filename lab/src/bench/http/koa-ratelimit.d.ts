// The package has no types of its own; this is what the bench uses of it.
declare module 'koa-ratelimit' {
  import type { Context, Middleware } from 'koa'

  export interface Options {
    driver: 'memory'
    db: Map<unknown, unknown>
    /** In milliseconds. */
    duration: number
    max: number
    id(ctx: Context): string
  }
  export default function ratelimit(options: Options): Middleware
}
