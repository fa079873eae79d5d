import { runtime as own } from '#runtime'
import type { Mechanism } from '../../admission/mechanism.js'
import type { Framework, HttpAdmission } from '../../http/http-admission.js'
import type { NodeAdmission } from '../../http/node-admission.js'
import type { HttpOptions } from '../../http/options.js'

/** An admission; it can watch responses, and leave bodies unread, where Node's may come. */
export type Admission<Target extends readonly unknown[]> = HttpAdmission<Target> &
  Partial<Pick<NodeAdmission<Target>, 'watch' | 'refuseBody'>>

/** What is different from runtime to runtime, and has to be known before the first request. */
export interface Runtime {
  /** For apps that Node's own requests may reach. */
  admission<Target extends readonly unknown[]>(
    framework: Framework<Target>,
    options: HttpOptions<Target>,
  ): Admission<Target>
  /** Load shedding, if the user does not say. */
  shed(queued: boolean): Mechanism<'shed'> | false
  /** How long a permit lasts at most, if the user does not say: where a response may end and nobody tell. */
  readonly permitTimeoutMs: number | undefined
}

/** That of the runtime for which this was resolved. Declared here, so that declarations do not lead to it. */
export const runtime: Runtime = own
