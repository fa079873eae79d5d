import type { ClockAnswer, ClockDesk, NamedReport } from '@fairlead/core/internal'
import type { Credentials } from '../access.js'

/** The answer to a report: its lease, or the address of the master. */
export interface ReportAnswer extends ClockAnswer {
  readonly mastership?: { readonly masterAddress?: string }
}

/** Settings of {@link ClockService}. */
export interface ClockServiceSettings {
  readonly desk: ClockDesk
  /** Throws a `CapacityError` for a caller that may not share the clock of that name. */
  allow(from: Credentials, name: string): void
  /** True while this server is the master: only the master keeps clocks. */
  isMaster(): boolean
}

/** Answers reports of processes that share clocks. */
export class ClockService {
  readonly #settings: ClockServiceSettings

  constructor(settings: ClockServiceSettings) {
    this.#settings = settings
  }

  /** `masterAddress`: the master's address for the protocol of the report. Throws for a caller that may not report. */
  report(from: Credentials, { name, report }: NamedReport, masterAddress?: string): Promise<ReportAnswer> {
    const { desk, allow, isMaster } = this.#settings
    allow(from, name)
    if (isMaster()) return desk.report(name, report)
    // A server that becomes the master again begins with empty clocks.
    desk.clear()
    return Promise.resolve({ mastership: masterAddress === undefined ? {} : { masterAddress } })
  }
}
