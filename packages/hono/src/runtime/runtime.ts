import type { LoadSignal } from '@fairlead/core'
import type { Framework, HttpAdmission, HttpOptions, NodeAdmission } from '@fairlead/core/http'
import type { Context } from 'hono'

/** An admission; it can watch responses where Node's may come. */
export type Admission = HttpAdmission<[Context]> & Partial<Pick<NodeAdmission<[Context]>, 'watch'>>

/** What is different from runtime to runtime, and has to be known before the first request. */
export interface Runtime {
  admission(framework: Framework<[Context]>, options: HttpOptions<[Context]>): Admission
  /** What to shed by, if the user does not say. */
  signals(queued: boolean): readonly LoadSignal[]
  /** How long a permit lasts at most, if the user does not say: where a response may end and nobody tell. */
  readonly permitTimeoutMs: number | undefined
}
