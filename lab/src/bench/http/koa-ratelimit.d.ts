// The package has no types of its own; these cover what the benchmark uses.
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
