import type { After } from '@fairlead/core'
import type { Transport } from '@fairlead/core/doorman'
import { CapacityError, type CapacityService, type GetServerCapacityResponse } from '@fairlead/core/doorman'
import { Alarm, withinDeadline } from '@fairlead/core/internal'
import type { DoormanNode, ParentQuestion } from './doorman-node.js'

/** The world of a {@link ParentLink}. Times are seconds since the epoch. */
export interface ParentLinkSettings {
  readonly node: DoormanNode
  readonly transport: Transport
  readonly now: () => number
  readonly after: After
  readonly deadlineMs: number
}

const FIRST_RETRY_SECONDS = 1
/** Few servers ask the same parent, and behind each of them many clients may wait. */
const LAST_RETRY_SECONDS = 2
/** From server to server in one go. */
const MOST_REDIRECTS = 5

/**
 * Puts a node's questions to its parent, one at a time, and follows redirects to the parent's master. No answer is
 * waited for longer than the deadline; then it tries again, after 1 s or 2 s. One timer, while there is anything to
 * ask.
 */
export class ParentLink {
  readonly #settings: ParentLinkSettings
  readonly #alarm: Alarm
  #service: CapacityService | undefined
  #failures = 0
  #lastError: string | undefined
  #closed = false

  constructor(settings: ParentLinkSettings) {
    this.#settings = settings
    this.#alarm = new Alarm(settings.after, () => this.look())
  }

  /** Why the last question was not answered; `undefined` once one was. */
  get lastError(): string | undefined {
    return this.#lastError
  }

  /** The node has done something: perhaps there is something to ask. */
  look(): void {
    if (this.#closed) return
    const { node, now } = this.#settings
    const at = now()
    const question = node.ask(at)
    if (question !== undefined) void this.#put(question)
    const nextAt = node.askAt(at)
    this.#alarm.set(Number.isFinite(nextAt) ? nextAt * 1_000 : undefined, at * 1_000)
  }

  /** Asks no more. */
  close(): void {
    this.#closed = true
    this.#alarm.set(undefined, 0)
  }

  async #put(question: ParentQuestion): Promise<void> {
    const { node, now } = this.#settings
    try {
      const answer = await this.#ask(question)
      node.answered(question, answer, now())
      this.#failures = 0
      this.#lastError = undefined
    } catch (error) {
      this.#service = undefined
      this.#lastError = String(error)
      const seconds = Math.min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** this.#failures++)
      node.unanswered(question, now() + seconds)
    }
    this.look()
  }

  async #ask({ request }: ParentQuestion): Promise<GetServerCapacityResponse> {
    const { transport, after, deadlineMs } = this.#settings
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const answer = await withinDeadline(deadlineMs, after, (signal) => {
        this.#service ??= transport.connect()
        return this.#service.getServerCapacity(request, signal)
      })
      if (answer.mastership === undefined || answer.response.length > 0) return answer
      const { masterAddress } = answer.mastership
      if (masterAddress === undefined || masterAddress === '')
        throw new CapacityError('unavailable', 'no server knows the master of the parent')
      this.#service = transport.connect(masterAddress)
    }
    throw new CapacityError('unavailable', 'servers send us round in circles')
  }
}
