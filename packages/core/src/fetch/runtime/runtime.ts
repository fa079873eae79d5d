import { runtime as own } from '#runtime'
import type { Mechanism } from '../../admission/stage.js'
import type { Framework, HttpAdmission } from '../../http/http-admission.js'
import type { NodeAdmission } from '../../http/node-admission.js'
import type { HttpOptions } from '../../http/options.js'
import type { watchRequest } from '../host.js'

/** An admission; it can watch responses, and leave bodies unread, if Node's requests may arrive. */
export type FetchAdmission<Target extends readonly unknown[]> = HttpAdmission<Target> &
  Partial<Pick<NodeAdmission<Target>, 'watch' | 'refuseBody'>>

/** The parts that differ between runtimes and must be known before the first request. */
export interface Runtime {
  /** For apps that Node's own requests may reach. */
  admission<Target extends readonly unknown[]>(
    framework: Framework<Target>,
    options: HttpOptions<Target>,
  ): FetchAdmission<Target>
  /** The default load shedding. */
  shed(queued: boolean): Mechanism<'shed'> | false
  /**
   * Default limit on the duration of a permit, in milliseconds: for runtimes that may not report the end of a response.
   */
  readonly permitTimeoutMs: number | undefined
  /** Follows a response without Node's events. Where permits have no default limit, it limits an unread answer's. */
  readonly watch: typeof watchRequest
}

/** The implementation for the resolved runtime. Declared here, so that declaration files do not refer to it. */
export const runtime: Runtime = own
