/** An instrument of a gate: one name, unit and meaning for all exporters. */
export interface Instrument {
  /** By the rules of OpenTelemetry; Prometheus names have `_` for `.`, and the unit as a suffix. */
  readonly name: string
  /**
   * `counter`: the total since the gate was made, never falling. `up-down`: a sum that also falls. `gauge`: a value
   * that is not summed up over processes. `histogram`: single values.
   */
  readonly kind: 'counter' | 'up-down' | 'gauge' | 'histogram'
  /** In UCUM, as in OpenTelemetry: `s`, `1` for a ratio, `{…}` for things that are counted. */
  readonly unit: string
  readonly description: string
  /**
   * Names of its attributes beside `fairlead.gate`, which all instruments have. All have few values, and none is a
   * flow.
   */
  readonly attributes: readonly string[]
}

/** Bounds of the histograms' buckets, in seconds. */
export const SECONDS: readonly number[] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

/** All instruments. Exporters export nothing else of a gate. */
export const INSTRUMENTS = {
  requests: {
    name: 'fairlead.requests',
    kind: 'counter',
    unit: '{request}',
    description: 'Requests that ended, by outcome; of those refused, by stage and reason',
    attributes: ['fairlead.outcome', 'fairlead.stage', 'fairlead.reason'],
  },
  cost: {
    name: 'fairlead.cost',
    kind: 'counter',
    unit: '{cost}',
    description: 'Cost of requests that ended, by outcome: the sum is the demand, success the service',
    attributes: ['fairlead.outcome'],
  },
  active: {
    name: 'fairlead.active_requests',
    kind: 'up-down',
    unit: '{request}',
    description: 'Requests admitted and not finished',
    attributes: [],
  },
  queued: {
    name: 'fairlead.queued_requests',
    kind: 'up-down',
    unit: '{request}',
    description: 'Requests that wait for a stage: their turn, a lease, a store',
    attributes: [],
  },
  wait: {
    name: 'fairlead.request.time_in_queue',
    kind: 'histogram',
    unit: 's',
    description: 'Time until a request was admitted, recorded since the first request that waited',
    attributes: [],
  },
  duration: {
    name: 'fairlead.request.duration',
    kind: 'histogram',
    unit: 's',
    description: 'Time from admission to the end',
    attributes: [],
  },
  expired: {
    name: 'fairlead.expired_permits',
    kind: 'counter',
    unit: '{permit}',
    description: 'Permits that timed out before they were finished',
    attributes: [],
  },
  errors: {
    name: 'fairlead.errors',
    kind: 'counter',
    unit: '{error}',
    description: 'Errors of a stage, a listener or a store: it threw, or did not answer',
    attributes: ['fairlead.source'],
  },
  engaged: {
    name: 'fairlead.fair.engaged',
    kind: 'gauge',
    unit: '{resource}',
    description: 'Resources that are short, so that FAIR holds flows to their shares: 0 while all is well',
    attributes: [],
  },
  fairCapacity: {
    name: 'fairlead.fair.capacity',
    kind: 'gauge',
    unit: '{cost}/s',
    description: 'Cost per second that the resource can serve, as measured; absent until a shortage was seen',
    attributes: ['fairlead.resource'],
  },
  fairRate: {
    name: 'fairlead.fair.rate',
    kind: 'gauge',
    unit: '{cost}/s',
    description: 'Cost per second that a flow of weight 1 may have',
    attributes: ['fairlead.resource'],
  },
  failureRatio: {
    name: 'fairlead.fair.failure_ratio',
    kind: 'gauge',
    unit: '1',
    description: 'Share of the latest outcomes that were failures',
    attributes: ['fairlead.resource'],
  },
  backgroundFailureRatio: {
    name: 'fairlead.fair.background_failure_ratio',
    kind: 'gauge',
    unit: '1',
    description: 'Share of outcomes that are failures at any load: they have another cause',
    attributes: ['fairlead.resource'],
  },
  flows: {
    name: 'fairlead.fairness.flows',
    kind: 'gauge',
    unit: '{flow}',
    description: 'Flows that asked in the last window: counted below 64, estimated above',
    attributes: [],
  },
  worstShare: {
    name: 'fairlead.fairness.worst_share',
    kind: 'gauge',
    unit: '1',
    description:
      'Service of the worst-off flow, as a share of its fair share, for heavy flows and a sample; 1: its whole share',
    attributes: [],
  },
  quietShare: {
    name: 'fairlead.fairness.quiet_share',
    kind: 'gauge',
    unit: '1',
    description: 'Service of the flows that asked for no more than their fair share, as a share of their demand',
    attributes: [],
  },
  jain: {
    name: 'fairlead.fairness.jain',
    kind: 'gauge',
    unit: '1',
    description: "Jain's index of service over fair share, for heavy flows and a sample; 1: all are treated equally",
    attributes: [],
  },
  topShare: {
    name: 'fairlead.fairness.top_share',
    kind: 'gauge',
    unit: '1',
    description: 'Share of the total demand of the flows that ask for the most, by rank',
    attributes: ['fairlead.rank'],
  },
  shedLoad: {
    name: 'fairlead.shed.load',
    kind: 'gauge',
    unit: '1',
    description: 'Load by a signal, as a share of the load at which all is shed',
    attributes: ['fairlead.signal'],
  },
  shedProbability: {
    name: 'fairlead.shed.probability',
    kind: 'gauge',
    unit: '1',
    description: 'Chance that an ordinary request is shed because of a signal',
    attributes: ['fairlead.signal'],
  },
  limit: {
    name: 'fairlead.capacity.limit',
    kind: 'up-down',
    unit: '{request}',
    description: 'Requests that the queue lets run at once: fixed, adaptive or leased',
    attributes: ['fairlead.source'],
  },
  used: {
    name: 'fairlead.capacity.used',
    kind: 'up-down',
    unit: '{request}',
    description: 'Requests that run on the capacity of the queue',
    attributes: ['fairlead.source'],
  },
  budgetLimit: {
    name: 'fairlead.budget.limit',
    kind: 'gauge',
    unit: '{cost}',
    description: 'Cost per window that all tenants of the budget share, in all processes',
    attributes: [],
  },
  budgetUsed: {
    name: 'fairlead.budget.used',
    kind: 'up-down',
    unit: '{cost}',
    description: 'Cost used of the budget in this window, by this process',
    attributes: [],
  },
  budgetTenants: {
    name: 'fairlead.budget.tenants',
    kind: 'gauge',
    unit: '{tenant}',
    description: 'Tenants that were admitted in this window, by this process',
    attributes: [],
  },
  leaseCapacity: {
    name: 'fairlead.lease.capacity',
    kind: 'up-down',
    unit: '{unit}',
    description: 'Capacity held by a lease from Doorman: slots, or cost per second',
    attributes: ['fairlead.resource'],
  },
  leaseWants: {
    name: 'fairlead.lease.wants',
    kind: 'up-down',
    unit: '{unit}',
    description: 'Capacity that is asked for: slots, or cost per second',
    attributes: ['fairlead.resource'],
  },
  leaseEndsIn: {
    name: 'fairlead.lease.expires_in',
    kind: 'gauge',
    unit: 's',
    description: 'Time until the lease ends; absent without one',
    attributes: ['fairlead.resource'],
  },
} as const

/** A key of {@link INSTRUMENTS}. */
export type InstrumentKey = keyof typeof INSTRUMENTS
