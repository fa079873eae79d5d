import type { FairRequest, HttpOptions } from '@fairlead/core/http'

/**
 * What an adapter supplies to be tested by {@link adapterContract}: a way to start an app of its framework with its
 * middleware in front of a single catch-all route that plays scenes.
 *
 * `Target` is what the adapter's options (`flow`, `outcome`, …) are called with.
 */
export interface AdapterHarness<Target extends readonly unknown[]> {
  /** Starts an app on a free port of 127.0.0.1, over plain HTTP/1.1. */
  start(setup: AppSetup<Target>): Promise<RunningApp>
  /**
   * Starts the same app over HTTP/2 without TLS, known from the first byte (`http2.createServer`), where the framework
   * can: then the contract has cases for streams, too.
   */
  startHttp2?(setup: AppSetup<Target>): Promise<RunningApp>
  /** A header of a request, in lower case. */
  header(target: Target, name: string): string | undefined
  /**
   * Whether the adapter knows by itself when a handler has settled (`await next()`), or only where its users say so
   * (`wrap`). With `always`, a handler that never settles keeps its permit until its lease ends, if it has one.
   */
  readonly seesHandlers: 'always' | 'wrapped'
  /** How many clients come where many do. @default 1000 */
  readonly crowd?: number
  /** Longest that a case may wait for anything before it counts as hung, in milliseconds. @default 10000 */
  readonly watchdogMs?: number
}

/** The app to start. */
export interface AppSetup<Target extends readonly unknown[]> {
  /** Options of the adapter's middleware; one middleware for each, the first outermost. */
  readonly middleware: readonly HttpOptions<Target>[]
  /** The handler is to be wrapped, in the adapter's own way, so that it is seen to settle. */
  readonly wrapped: boolean
  /**
   * What the catch-all route does, for GET, HEAD and POST alike: call this with the path and what the innermost
   * middleware says of the request, and answer as told. Call it synchronously, do not catch what it throws, and hand
   * a promise to the framework as a handler of that framework would.
   */
  play(path: string, fair: FairRequest | undefined): Answer | Promise<Answer>
}

/** How a handler is to answer. */
export type Answer =
  /** Status and text. The body is empty for 304. */
  | { readonly kind: 'send'; readonly status: number; readonly body: string }
  /** The framework's own HTTP error with this status, raised as its users do. */
  | { readonly kind: 'http-error'; readonly status: number }
  /** Status 200 and a body of these chunks, streamed as they come; if they throw, the response must be cut off. */
  | { readonly kind: 'stream'; readonly chunks: AsyncIterable<string> }
  /** A whole answer, and then a second one; what the framework says to that is to be swallowed. */
  | { readonly kind: 'twice'; readonly body: string }

/** An app that runs. */
export interface RunningApp {
  readonly port: number
  /** Stops it, connections included. */
  close(): Promise<void>
}
