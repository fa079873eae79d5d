import type { RequestListener } from 'node:http'
import { CapacityError } from '@fairlead/core/doorman'
import { CLOCK_PATH, type NamedReport } from '@fairlead/core/internal'
import { bodyOf, credentialsOf, send, sendError } from '../http/capacity-handler.js'
import type { ClockService, ReportAnswer } from './clock-service.js'

/** Settings of {@link clockHandler}. */
export interface ClockHandlerSettings {
  readonly clocks: ClockService
  /** URL of the master, if known. */
  masterUrl(): string | undefined
  /** Largest accepted body, in bytes. */
  readonly maxRequestBytes: number
}

/**
 * `POST /doorman.Clock/Report`, JSON both ways: a list of a clock's name, and the report of a process that shares it.
 * The answer is its lease, when there is one, or the address of the master. All other requests go to `others`.
 */
export function clockHandler(settings: ClockHandlerSettings, others: RequestListener): RequestListener {
  const { clocks, masterUrl, maxRequestBytes } = settings
  return (request, response) => {
    if (request.method !== 'POST' || request.url !== CLOCK_PATH) {
      others(request, response)
      return
    }
    const answer = async (): Promise<ReportAnswer> =>
      clocks.report(credentialsOf(request), reportOf(await bodyOf(request, maxRequestBytes)), masterUrl())
    answer().then(
      (body) => send(response, 200, body),
      (error: unknown) => {
        if (!request.complete) response.setHeader('connection', 'close')
        sendError(response, error)
      },
    )
  }
}

function reportOf(body: unknown): NamedReport {
  const [name, report] = Array.isArray(body) ? (body as unknown[]) : []
  const text = (value: unknown, what: string): string => {
    if (typeof value === 'string' && value.length > 0) return value
    throw new CapacityError('invalid_argument', `${what} must be a text that is not empty`)
  }
  return { name: text(name, 'name'), report: text(report, 'report') }
}
