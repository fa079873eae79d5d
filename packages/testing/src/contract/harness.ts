import type { FairRequest, HttpOptions } from '@fairlead/core/http'

/**
 * The parts that an adapter supplies to be tested by {@link adapterContract}: a way to start an app of its framework
 * with its middleware in front of a single catch-all route that plays scenes.
 *
 * `Target` is the arguments of the adapter's options (`flow`, `outcome`, …).
 */
export interface AdapterHarness<Target extends readonly unknown[]> {
  /** Starts an app on a free port of 127.0.0.1, over plain HTTP/1.1. */
  start(setup: AppSetup<Target>): Promise<RunningApp>
  /**
   * Starts the same app over HTTP/2 without TLS and without an upgrade (`http2.createServer`), if the framework
   * supports that: the contract then has cases for streams, too.
   */
  startHttp2?(setup: AppSetup<Target>): Promise<RunningApp>
  /** A header of a request, in lower case. */
  header(target: Target, name: string): string | undefined
  /**
   * Whether the adapter detects by itself that a handler has settled (`await next()`), or only if its users say so
   * (`wrap`). With `always`, a handler that never settles keeps its permit until the permit times out, if it does.
   */
  readonly seesHandlers: 'always' | 'wrapped'
  /** Number of clients in a crowd. @default 1000 */
  readonly crowd?: number
  /** Longest wait for a condition before a case counts as hung, in milliseconds. @default 10000 */
  readonly watchdogMs?: number
}

/** The app to start. */
export interface AppSetup<Target extends readonly unknown[]> {
  /** Options of the adapter's middleware; one middleware for each, the first outermost. */
  readonly middleware: readonly HttpOptions<Target>[]
  /** Whether to wrap the handler, in the adapter's own way, so that the adapter sees it settle. */
  readonly wrapped: boolean
  /**
   * The catch-all route, for GET, HEAD and POST alike: call this with the path and the innermost middleware's view of
   * the request, and answer as it returns. Call it synchronously, do not catch its errors, and hand a promise to the
   * framework as a handler of that framework would.
   */
  play(path: string, fair: FairRequest | undefined): HandlerAnswer | Promise<HandlerAnswer>
}

/** A handler's answer. */
export type HandlerAnswer =
  /** Status and text. The body is empty for 304. */
  | { readonly kind: 'send'; readonly status: number; readonly body: string }
  /** The framework's own HTTP error with this status, raised as its users do. */
  | { readonly kind: 'http-error'; readonly status: number }
  /** Status 200 and a body of these chunks, streamed as they arrive; if they throw, the response must be cut off. */
  | { readonly kind: 'stream'; readonly chunks: AsyncIterable<string> }
  /** A whole answer, and then a second one; the framework's error about that must be swallowed. */
  | { readonly kind: 'twice'; readonly body: string }

/** A running app. */
export interface RunningApp {
  readonly port: number
  /** Stops it, including its connections. */
  close(): Promise<void>
}
