import type { Words } from '../hash.js'
import type { Lane } from './lane.js'
import type { Request } from './request.js'

/** Where the requests of a flow wait. */
export interface Lanes<T> {
  /** Flows of which something is remembered. */
  readonly records: number
  /** The line that the flow's next request joins, if there is one already. */
  find(flow: string): Lane<T> | undefined
  /** Makes that line, where `find` found none. */
  open(flow: string, weight: number): Lane<T>
  /** A request was added to its lane, or has left it. */
  came(request: Request<T>, lane: Lane<T>): void
  left(request: Request<T>): void
  /** A lane is empty and out of its ring. */
  forget(lane: Lane<T>): void
  /** Deals all that waits to the queues anew: nothing is lost or refused, and every flow keeps its order. */
  rehome(queues: number, key: Words | undefined): void
}
