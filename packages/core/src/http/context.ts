import type { FairRequest } from './http-visit.js'

/** The request on whose behalf some work runs; a visit is one. */
export interface Caller {
  /** Its flow and priority; undefined until it is admitted. */
  readonly permit:
    | { readonly flow: string; readonly path?: readonly string[] | undefined; readonly priority: number }
    | undefined
  /** Fires when the client is gone. */
  readonly signal: AbortSignal | undefined
}

/** The part of `AsyncLocalStorage` that this file uses. */
interface Storage {
  getStore(): Caller | undefined
  run<T>(caller: Caller, work: () => T): T
}

/**
 * The part of the global object that this file uses, if present: Node, Bun and Deno have the first property, edge
 * runtimes the second, workerd the third.
 */
interface Global {
  readonly process?: { getBuiltinModule?(name: string): { readonly AsyncLocalStorage?: new () => Storage } | undefined }
  readonly AsyncLocalStorage?: new () => Storage
  readonly navigator?: { readonly userAgent?: string }
}

/**
 * Whether this is workerd. There the argument beside a request holds the user's bindings, under names of their choice,
 * and nothing from the server.
 */
export const isWorkerd: boolean = (globalThis as Global).navigator?.userAgent === 'Cloudflare-Workers'

let storage: Storage | undefined

/**
 * From now on, async work of a handler carries its request, for {@link callerNow}. Called only on demand, because on
 * Node 20 and 22 it slows down every promise of the process. Does nothing if the runtime has no `AsyncLocalStorage`.
 */
export function carryCallers(): void {
  if (storage !== undefined) return
  const { process, AsyncLocalStorage } = globalThis as Global
  const Known = process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage ?? AsyncLocalStorage
  if (Known !== undefined) storage = new Known()
}

/** The request on whose behalf the current code runs, if handlers carry their requests. */
export function callerNow(): Caller | undefined {
  return storage?.getStore()
}

/** Runs `work` on behalf of `caller`. */
export function runFor<T>(caller: Caller, work: () => T): T {
  return storage === undefined ? work() : storage.run(caller, work)
}

/**
 * Property under which a request keeps its visit, the same in all copies of this package in a process. A `WeakMap`
 * entry per request costs more than everything else here.
 */
const FAIR: unique symbol = Symbol.for('fairlead.fair')

interface JudgedRequest {
  [FAIR]?: FairRequest
}

/**
 * The visit to the innermost gate that has admitted this request, of any adapter; `request` is Node's own, or the one
 * passed to a `fetch` handler. Undefined if no gate judged it.
 */
export function fairOf(request: object | undefined): FairRequest | undefined {
  return (request as JudgedRequest | undefined)?.[FAIR]
}

/** Makes a visit visible to handlers and to inner gates, through {@link fairOf}. */
export function showFair(request: object, fair: FairRequest): void {
  ;(request as JudgedRequest)[FAIR] = fair
}
