import type { After, Clock } from '@fairlead/core'
import type {
  CapacityService,
  DiscoveryResponse,
  GetCapacityRequest,
  GetCapacityResponse,
  GetServerCapacityRequest,
  GetServerCapacityResponse,
  ReleaseCapacityRequest,
  ReleaseCapacityResponse,
  Transport,
} from '@fairlead/core/doorman'
import {
  Alarm,
  heard,
  requireAbove,
  requireFunction,
  requireNumber,
  requireOptions,
  requireText,
  steady,
  systemAfter,
  systemClock,
} from '@fairlead/core/internal'
import { DoormanNode, type DoormanServerNotice } from './doorman-node.js'
import { LeaseRecord } from './lease-record.js'
import { type DoormanServerLimits, limitsFrom } from './limits.js'
import { MasterState } from './master-state.js'
import { type ResourceRepository, Templates } from './repository.js'
import type { ChildSnapshot, NodeSnapshot, NodeSummary } from './snapshot.js'
import { ParentLink } from './upstream.js'

/** Options of {@link DoormanServer}. */
export interface DoormanServerOptions {
  /** The name of the node in the tree; all tasks that may be its master have the same. */
  id: string
  repository: ResourceRepository
  /** Address of this task, which it announces while it is the master. */
  address?: string
  /** Servers of the node's parent, which then grants the capacity. @default none: the repository states it */
  parent?: Transport
  /**
   * False: the server is the master from the start, without a predecessor. True: it is not until {@link
   * DoormanServer.won}.
   * @default false
   */
  elected?: boolean
  /**
   * Shortest time between two answers to the same child about the same resource, in milliseconds; 0 answers always.
   * Never more than the refresh interval of the level. @default 5000
   */
  minimumIntervalMs?: number
  /** Bounds on requests. */
  limits?: Partial<DoormanServerLimits>
  /** Called with notices for the operator, within the call that causes them. Its errors are ignored. */
  onNotice?: (notice: DoormanServerNotice) => void
  /** Longest wait for an answer of the parent, in milliseconds, above 0. @default 5000 */
  deadlineMs?: number
  /** @default the platform's monotonic clock */
  clock?: Clock
  /** Milliseconds since the Unix epoch, for the ends of leases; may be corrected at any time. @default Date.now */
  wallClock?: Clock
  /**
   * Timers for the parent, and for work that calls leave undone; must not keep the process alive. @default the
   * platform's
   */
  after?: After
}

/** State of a {@link DoormanServer}, as plain JSON. */
export interface DoormanServerSnapshot extends NodeSnapshot {
  /** The reason why the parent did not answer the last question. */
  parentError?: string
}

/** The same without clients and servers; leased amounts may be two seconds old. */
export interface DoormanServerSummary extends NodeSummary {
  /** The reason why the parent did not answer the last question. */
  parentError?: string
}

const OPTIONS = [
  'id',
  'repository',
  'address',
  'parent',
  'elected',
  'minimumIntervalMs',
  'limits',
  'onNotice',
  'deadlineMs',
  'clock',
  'wallClock',
  'after',
]

/** Smallest correction of the wall clock that the server follows, in milliseconds. */
const DRIFT_MS = 500

/**
 * A server of Doorman's `Capacity` service: divides resources among clients and servers by leases.
 *
 * The constructor starts nothing. With a parent the server has one timer while there are wants; any server has one
 * while work is left over, because no call looks at more than some hundred children. All state is in memory: after a
 * crash the next master learns from the children's reports, and grants nothing that may still be in use.
 *
 * @see the Doorman design document, "Server operation"
 */
export class DoormanServer implements CapacityService {
  readonly #node: DoormanNode
  readonly #mastership: MasterState
  readonly #address: string | undefined
  readonly #link: ParentLink | undefined
  readonly #after: After
  readonly #rest: Alarm
  #isClosed = false
  #leases: LeaseRecord
  readonly #clock: Clock
  readonly #wallClock: Clock
  /** Lead of the wall clock over the steady clock. */
  #originMs: number

  /**
   * Throws a `RangeError` or `TypeError` that names the option and its value, or the invalid part of the repository.
   */
  constructor(options: DoormanServerOptions) {
    requireOptions('options', options, OPTIONS)
    const { id, repository, address, parent, elected = false, minimumIntervalMs = 5_000, deadlineMs = 5_000 } = options
    const { clock = systemClock, wallClock = Date.now, after = systemAfter, onNotice = () => {} } = options
    requireText('id', id)
    if (address !== undefined) requireText('address', address)
    requireNumber('minimumIntervalMs', minimumIntervalMs, 0)
    requireAbove('deadlineMs', deadlineMs, 0)
    for (const [name, seam] of Object.entries({ clock, wallClock, after, onNotice })) requireFunction(name, seam)
    if (parent !== undefined) requireFunction('parent.connect', parent?.connect)
    this.#clock = steady(clock)
    this.#wallClock = wallClock
    this.#originMs = wallClock() - this.#clock()
    this.#address = address
    this.#after = after
    this.#rest = new Alarm(after, () => {
      this.#node.proceed(this.#now())
      this.#afterwards(undefined)
    })
    this.#mastership = new MasterState(!elected, elected ? undefined : address)
    this.#node = new DoormanNode({
      id,
      repository,
      isRoot: parent === undefined,
      minimumSeconds: minimumIntervalMs / 1_000,
      mastership: this.#mastership,
      limits: limitsFrom(options.limits ?? {}),
      notice(notice) {
        try {
          heard(onNotice(notice))
        } catch {
          // The caller is not at fault.
        }
      },
    })
    this.#leases = LeaseRecord.of(this.#node.templates)
    if (parent !== undefined)
      this.#link = new ParentLink({ node: this.#node, transport: parent, now: () => this.#now(), after, deadlineMs })
  }

  /** The master, as far as this task knows. */
  discovery(): DiscoveryResponse {
    return this.#node.discovery(this.#now())
  }

  /** Throws a `CapacityError` `invalid_argument` on a bad request, and then changes nothing. */
  getCapacity(request: GetCapacityRequest): GetCapacityResponse {
    return this.#afterwards(this.#node.getCapacity(request, this.#now()))
  }

  /** As {@link getCapacity}. */
  getServerCapacity(request: GetServerCapacityRequest): GetServerCapacityResponse {
    return this.#afterwards(this.#node.getServerCapacity(request, this.#now()))
  }

  /** As {@link getCapacity}. */
  releaseCapacity(request: ReleaseCapacityRequest): ReleaseCapacityResponse {
    return this.#afterwards(this.#node.releaseCapacity(request, this.#now()))
  }

  /** Takes another configuration. Throws if it is invalid; the old one then stays. */
  configure(repository: ResourceRepository): void {
    this.#node.configure(repository)
    this.#leases = this.#leases.followedBy(this.#node.templates, this.#now())
    this.#afterwards(undefined)
  }

  /**
   * How long the grants of this server may last: text to keep beside the lock before it grants anything, for its
   * successor. `before` is the text of its predecessor, and `repository` a configuration that is about to come into
   * force, `within` that many seconds. Throws if that is invalid.
   */
  leaseRecord({
    before,
    repository,
    within,
  }: {
    before?: string | undefined
    repository?: ResourceRepository
    within?: number
  } = {}): string {
    const templates = repository === undefined ? this.#node.templates : new Templates(repository).all
    const leases = before === undefined ? this.#leases : this.#leasesBefore(before)
    return leases.followedBy(templates, this.#now(), within).toString()
  }

  /**
   * It was elected, and begins with empty state. `afterNobody`: the lock was never held before. `before`: the
   * {@link leaseRecord} of its predecessor; without it, the predecessor's leases are assumed to be no longer than its
   * own.
   */
  won({ afterNobody = false, before }: { afterNobody?: boolean; before?: string | undefined } = {}): void {
    const leases = this.#leasesBefore(before)
    const now = this.#now()
    this.#node.forget()
    this.#mastership.won(this.#address, !afterNobody, now, leases)
    this.#leases = leases.followedBy(this.#node.templates, now)
  }

  /** It lost the election, or another server won: drops all state. `master` is the other server's address, if known. */
  lost(master?: string): void {
    this.#node.forget()
    this.#mastership.follows(master)
  }

  /** The present master's lock has vanished: it granted no lease after this moment. */
  lockVanished(): void {
    this.#mastership.lockVanished(this.#now())
  }

  /**
   * The lock was renewed and may run out in `ms` milliseconds, counted from when the renewal was sent, at `sentMs` of
   * the server's clock. From then on it grants nothing, unless it is renewed again.
   */
  lockHolds(ms: number, sentMs: number): void {
    this.#mastership.holdsUntil((this.#originMs + sentMs + ms) / 1_000)
  }

  /** The whole state. O(children log children). */
  snapshot(): DoormanServerSnapshot {
    return this.#withParent(this.#node.snapshot(this.#now()))
  }

  /**
   * The state for pages and metrics. O(resources), with pauses in which other calls are answered: each resource is
   * shown as of its turn.
   */
  async summary(): Promise<DoormanServerSummary> {
    const summary = await this.#walked(this.#node.summary(this.#now()))
    return this.#afterwards(this.#withParent(summary))
  }

  /**
   * The clients and servers with the largest leases of a resource, `most` of them, the largest first. O(children), with
   * pauses in which other calls are answered; clients that come or go meanwhile may be missed.
   */
  async largest(resourceId: string, most: number): Promise<ChildSnapshot[]> {
    return this.#walked(this.#node.largest(resourceId, most, this.#now()))
  }

  /** The reason why the parent did not answer the last question; `undefined` after an answer, or without a parent. */
  get parentError(): string | undefined {
    return this.#link?.lastError
  }

  /** Stops asking the parent, and stops all timers. */
  close(): void {
    this.#link?.close()
    this.#isClosed = true
    this.#rest.set(undefined, 0)
  }

  async #walked<T>(walk: Generator<undefined, T, undefined>): Promise<T> {
    for (;;) {
      const step = walk.next()
      if (step.done === true) return step.value
      await new Promise<void>((resume) => this.#after(0, resume))
    }
  }

  /** Schedules the work that the call left undone, so that no call blocks others for long. */
  #afterwards<A>(answer: A): A {
    this.#link?.look()
    if (this.#node.isBehind && !this.#isClosed) this.#rest.set(0, 0)
    return answer
  }

  #leasesBefore(text: string | undefined): LeaseRecord {
    return (text === undefined ? undefined : LeaseRecord.from(text)) ?? LeaseRecord.of(this.#node.templates)
  }

  #withParent<S extends NodeSummary>(of: S): S & { parentError?: string } {
    const error = this.parentError
    return error === undefined ? of : { ...of, parentError: error }
  }

  /**
   * Seconds since the epoch by the wall clock; between its corrections they advance with the steady clock. Leases have
   * ends by the wall clock, so these must be right even if that clock was wrong when the server started.
   */
  #now(): number {
    const nowMs = this.#clock()
    const driftMs = this.#wallClock() - this.#originMs - nowMs
    if (Math.abs(driftMs) >= DRIFT_MS && Number.isFinite(driftMs)) {
      this.#originMs += driftMs
      this.#node.shift(driftMs / 1_000)
    }
    return (this.#originMs + nowMs) / 1_000
  }
}
