// The package has no types of its own; these cover what the benchmarks use.
declare module 'overload-protection' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  export interface Options {
    production?: boolean
    /** In milliseconds. */
    maxEventLoopDelay?: number
    maxRssBytes?: number
    maxHeapUsedBytes?: number
  }
  export interface Protect {
    readonly overload: boolean
    /** True if the request was refused. */
    (req: IncomingMessage, res: ServerResponse): boolean
    (req: IncomingMessage, res: ServerResponse, next: () => void): void
    stop(): void
  }
  export default function overloadProtection(framework: 'express' | 'http' | 'koa', options?: Options): Protect
}
