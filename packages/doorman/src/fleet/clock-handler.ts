import type { RequestListener } from 'node:http'
import { CapacityError } from '@fairlead/core/doorman'
import { CLOCK_PATH, type ClockAnswer, type ClockDesk } from '@fairlead/core/internal'
import type { Credentials } from '../access.js'
import { bodyOf, credentialsOf, send, sendError } from '../http/capacity-handler.js'

/** Settings of {@link clockHandler}. */
export interface ClockHandlerSettings {
  readonly desk: ClockDesk
  /** Throws a `CapacityError` for a caller that may not share the clock of that name. */
  allow(from: Credentials, name: string): void
  /** True while this server is the master: only the master keeps clocks. */
  isMaster(): boolean
  /** URL of the master, if known. */
  masterUrl(): string | undefined
  /** Largest accepted body, in bytes. */
  readonly maxRequestBytes: number
}

interface Report {
  readonly name: string
  readonly member: string
  readonly report: string
}

/**
 * `POST /doorman.Clock/Report`, JSON both ways: a report of a process that shares a clock. The answer is its lease,
 * when there is one, or the address of the master. All other requests go to `others`.
 */
export function clockHandler(settings: ClockHandlerSettings, others: RequestListener): RequestListener {
  const { desk, allow, isMaster, masterUrl, maxRequestBytes } = settings
  return (request, response) => {
    if (request.method !== 'POST' || request.url !== CLOCK_PATH) {
      others(request, response)
      return
    }
    const answer = async (): Promise<ClockAnswer | { mastership: { masterAddress?: string } }> => {
      const { name, member, report } = reportOf(await bodyOf(request, maxRequestBytes))
      allow(credentialsOf(request), name)
      if (isMaster()) return desk.report(name, member, report)
      // A server that becomes the master again begins with empty clocks.
      desk.clear()
      const masterAddress = masterUrl()
      return { mastership: masterAddress === undefined ? {} : { masterAddress } }
    }
    answer().then(
      (body) => send(response, 200, body),
      (error: unknown) => {
        if (!request.complete) response.setHeader('connection', 'close')
        sendError(response, error)
      },
    )
  }
}

function reportOf(body: unknown): Report {
  const given = typeof body === 'object' && body !== null ? (body as Partial<Record<keyof Report, unknown>>) : {}
  const text = (field: keyof Report): string => {
    const value = given[field]
    if (typeof value === 'string' && value.length > 0) return value
    throw new CapacityError('invalid_argument', `${field} must be a text that is not empty`)
  }
  return { name: text('name'), member: text('member'), report: text('report') }
}
