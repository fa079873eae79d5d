import type { Draws } from './luck.js'
import type { Balancer, Change, Costs, CrowdTraits, Jump, Reports, Restart, Unrelated } from './world.js'

/** Most attempts of a world, retries included. */
export const MOST_ATTEMPTS = 150_000

interface DraftCrowd extends CrowdTraits {
  /** Part of the capacity. */
  load: number
  /** Parts of the whole time. */
  between?: readonly [number, number]
}

/** A world before its length is known: loads are parts of the capacity, times parts of the whole. */
export interface Draft {
  capacity: number
  longest: number
  attempts: number
  processes: number
  balancer: Balancer
  resource:
    | { readonly kind: 'bucket'; readonly burstSeconds: number; late: number }
    | {
        readonly kind: 'pool'
        readonly meanSeconds: number
        /** Relative to the number of workers. */
        readonly line: number
        readonly patience: number
        late: number
      }
  changes: Change[]
  crowds: [DraftCrowd, ...DraftCrowd[]]
  costs: Costs | null
  unrelated: Unrelated | null
  reports: Reports
  ends: number | null
  jumps: Jump[]
  restarts: Restart[]
}

/** A disturbance of a world: changes the draft of an ordinary one. */
export interface Family {
  readonly name: string
  change(draft: Draft, draw: Draws): void
}

/** Families, and the chance that a world has at most none, one, two … of them. */
export interface FamilyList {
  readonly families: readonly Family[]
  readonly atMost: readonly number[]
}

/** A seed stands for the same world only while nothing is added here: additions go to `extra`, or to a new list. */
const first: FamilyList = {
  atMost: [0.2, 0.65, 0.87, 1],
  families: [
    {
      name: 'trickle', // a few requests a second, most of them served, often with failures for another reason
      change(draft, draw) {
        draft.capacity = draw.log(2, 20)
        scaleTo(draft, draw.log(0.25, 1.2))
        draft.crowds[0].flows = draw.logInteger(3, 30)
        draft.longest = 900
        if (draw.chance(0.7)) draft.unrelated = { share: draw.log(0.03, 0.5), from: draw.between(0, 0.2), to: 1 }
      },
    },
    {
      name: 'many light',
      change(draft, draw) {
        draft.crowds[0].flows = draw.logInteger(1000, 20_000)
        draft.capacity = draw.log(300, 3000)
        draft.ends = null
        if (draft.crowds[1] && draw.chance(0.5)) draft.crowds[1].flows = draw.integer(15, 50)
      },
    },
    {
      name: 'pool',
      change(draft, draw) {
        const line = draw.chance(0.5) ? 0 : draw.log(0.2, 2)
        draft.resource = { kind: 'pool', meanSeconds: draw.log(0.01, 2), line, patience: draw.log(0.2, 5), late: 0 }
      },
    },
    {
      name: 'slow store',
      change(draft, draw) {
        draft.resource.late = draw.log(0.05, 2)
      },
    },
    {
      name: 'changing capacity',
      change(draft, draw) {
        const at = draw.between(0.15, 0.35)
        const back = at + draw.between(0.1, 0.4)
        const times = draw.pick([0, 0.5, 2, draw.log(0.1, 4)])
        draft.changes = [{ at, times }]
        if (times === 0) draft.changes.push({ at: Math.min(back, at + 0.1), times: 1 })
        else if (draw.chance(0.6)) draft.changes.push({ at: back, times: 1 })
      },
    },
    {
      name: 'bursts',
      change(draft, draw) {
        const crowd = draw.pick(draft.crowds)
        if (draw.chance(0.7)) crowd.bursts = { on: draw.log(0.5, 30), off: draw.log(0.5, 30) }
        else crowd.between = [draw.between(0.1, 0.4), draw.between(0.6, 0.9)]
      },
    },
    {
      name: 'costs',
      change(draft, draw) {
        const most = Math.min(100, Math.max(2, draft.capacity / 5))
        draft.costs = { shape: draw.between(1.1, 2.5), most, known: draw.chance(0.6) }
      },
    },
    {
      name: 'weights',
      change(draft, draw) {
        for (const crowd of draft.crowds) crowd.weights = [1, draw.pick([2, 3, 10])]
      },
    },
    {
      name: 'retries',
      change(draft, draw) {
        for (const crowd of draft.crowds)
          if (draw.chance(0.75))
            crowd.retry = { kind: draw.pick(['now', 'backoff', 'after']), tries: draw.integer(1, 4) }
      },
    },
    {
      name: 'closed loops',
      change(draft, draw) {
        const crowd = draw.chance(0.3) ? draft.crowds[0] : draft.crowds.at(-1)!
        crowd.clients = draw.logInteger(1, 8)
      },
    },
    {
      name: 'private failures', // of flows whose requests fail regardless of load
      change(draft, draw) {
        const load = draw.log(0.02, 1)
        const crowd: DraftCrowd = { name: 'hopeless', flows: draw.logInteger(1, 100), load, stranger: true, fails: 1 }
        if (draw.chance(0.3)) {
          Object.assign(crowd, { name: 'unlucky', stranger: false, fails: draw.between(0.3, 0.95) })
        } else if (draw.chance(0.4)) crowd.renamedAfter = draw.logInteger(1, 20)
        if (draw.chance(0.5)) crowd.between = [draw.between(0.1, 0.4), 1]
        if (draw.chance(0.5)) scaleTo(draft, draw.log(0.2, 0.9))
        draft.crowds.push(crowd)
      },
    },
    {
      name: 'unrelated failures', // of any request, for some time
      change(draft, draw) {
        const from = draw.between(0, 0.5)
        draft.unrelated = { share: draw.log(0.01, 0.6), from, to: draw.chance(0.5) ? 1 : draw.between(from, 1) }
      },
    },
    {
      name: 'invented names',
      change(draft, draw) {
        const [light] = draft.crowds
        light.load = Math.min(light.load, draw.between(0.2, 0.9))
        draft.crowds.push({
          name: 'flood',
          flows: draw.logInteger(1, 5),
          load: draw.between(1, 5),
          stranger: true,
          renamedAfter: draw.pick([1, 1, 1, 3, 10]),
          between: [draw.between(0, 0.4), 1],
        })
      },
    },
    {
      name: 'poor reports',
      change(draft, draw) {
        if (draw.chance(0.5)) draft.reports.lost = draw.log(0.01, 0.3)
        if (draft.reports.lost === 0 || draw.chance(0.5)) draft.reports.late = draw.log(0.02, 5)
      },
    },
  ],
}

/** Each world has one of these. */
const extra: FamilyList = {
  atMost: [0, 1],
  families: [
    {
      name: 'busy service', // nothing is short, some requests fail all the time for another reason
      change(draft, draw) {
        const load = draw.between(0.2, 0.6)
        draft.capacity = draw.log(400, 5000) / load
        draft.attempts = 3 * MOST_ATTEMPTS
        scaleTo(draft, load)
        draft.unrelated = { share: draw.log(0.001, 0.2), from: 0, to: 1 }
        draft.ends = null
      },
    },
    {
      name: 'poison, cold', // from the start
      change: (draft, draw) => addPoison(draft, draw, 0),
    },
    {
      name: 'poison, warm', // after a healthy time
      change: (draft, draw) => addPoison(draft, draw, draw.between(0.2, 0.5)),
    },
    {
      name: 'large buffer',
      change(draft, draw) {
        scaleTo(draft, draw.log(1.2, 4))
        draft.resource = draw.chance(0.5)
          ? { kind: 'bucket', burstSeconds: draw.log(5, 60), late: 0 }
          : { kind: 'pool', meanSeconds: draw.log(0.01, 2), line: draw.log(5, 50), patience: draw.log(5, 60), late: 0 }
      },
    },
    {
      name: 'clocks',
      change(draft, draw) {
        draft.processes = draw.pick([2, 4, 8])
        for (let process = 0; process < draft.processes; process++)
          for (const at of [0, draw.next()])
            draft.jumps.push({ at, process, by: draw.pick([-1, 1]) * draw.log(0.1, 3600) })
      },
    },
    {
      name: 'restarts',
      change(draft, draw) {
        draft.processes = draw.pick([1, 2, 4])
        const count = draw.logInteger(1, 20)
        for (let i = 0; i < count; i++) draft.restarts.push({ at: draw.next(), process: draw.integer(0, 15) })
      },
    },
  ],
}

/** What happens to services in the course of a day. Each world has one or two of these. */
const daily: FamilyList = {
  atMost: [0, 0.7, 1],
  families: [
    {
      name: 'pauses', // of a collector, a checkpoint, a change of the leader
      change(draft, draw) {
        const rounds = draw.logInteger(5, 60)
        const length = draw.log(0.02, 0.3)
        for (let round = draw.next(); round < rounds; round += draw.between(0.7, 1.3))
          draft.changes.push({ at: round / rounds, times: 0 }, { at: (round + length) / rounds, times: 1 })
      },
    },
    {
      name: 'swings', // of the capacity
      change(draft, draw) {
        const rounds = draw.logInteger(2, 20)
        const height = draw.between(0.2, 0.8)
        const steps = 16 * rounds
        draft.changes = Array.from({ length: steps }, (_, step) => ({
          at: step / steps,
          times: 1 + height * Math.sin((2 * Math.PI * rounds * step) / steps),
        }))
      },
    },
    {
      name: 'scaling', // up and down, in steps
      change(draft, draw) {
        draft.changes = []
        let times = draw.between(0.2, 1)
        for (let at = 0; at < 1; at += draw.between(0.05, 0.25)) {
          draft.changes.push({ at, times })
          times = Math.max(0.1, Math.min(4, times * draw.log(0.5, 2)))
        }
      },
    },
    {
      name: 'wear', // a leak: ever less is served
      change(draft, draw) {
        const last = draw.log(0.05, 0.5)
        draft.changes = Array.from({ length: 20 }, (_, step) => ({
          at: step / 20,
          times: 1 - (1 - last) * (step / 20),
        }))
      },
    },
    {
      name: 'one client',
      change(draft, draw) {
        draft.crowds = [{ name: 'one', flows: 1, load: draw.log(0.5, 4) }]
      },
    },
    {
      name: 'giant', // one customer asks for most of what is enough for all
      change(draft, draw) {
        const load = draw.between(0.5, 0.97)
        draft.crowds = [
          { name: 'light', flows: draw.logInteger(5, 50), load: 0.1 * load },
          { name: 'giant', flows: 1, load: 0.9 * load },
        ]
      },
    },
    {
      name: 'batches',
      change(draft, draw) {
        scaleTo(draft, draw.log(0.2, 1.2))
        for (const crowd of draft.crowds) crowd.bursts = { on: draw.log(0.2, 2), off: draw.log(5, 40) }
      },
    },
    {
      name: 'retry storm',
      change(draft, draw) {
        scaleTo(draft, draw.between(0.6, 1.3))
        for (const crowd of draft.crowds)
          crowd.retry = { kind: draw.pick(['now', 'now', 'backoff']), tries: draw.integer(2, 5) }
      },
    },
    {
      name: 'deploys', // requests fail for a while, again and again
      change(draft, draw) {
        draft.unrelated = { share: draw.between(0.2, 1), from: 0.05, to: 1, rounds: draw.logInteger(2, 20) }
      },
    },
    {
      name: 'slow pool',
      change(draft, draw) {
        draft.capacity = draw.log(1, 30)
        const line = draw.pick([0, 0.5, 2])
        draft.resource = { kind: 'pool', meanSeconds: draw.log(1, 10), line, patience: draw.log(0.5, 10), late: 0 }
      },
    },
    {
      name: 'come and go', // always other flows, which overlap
      change(draft) {
        const [light, ...others] = draft.crowds
        draft.crowds = [light]
        for (let shift = 0; shift < 6; shift++)
          for (const crowd of others)
            draft.crowds.push({
              ...crowd,
              name: `${crowd.name} ${shift + 1}`,
              between: [Math.max(0, (shift - 0.2) / 6), (shift + 1) / 6],
            })
      },
    },
  ],
}

export const FAMILY_LISTS: Readonly<Record<'first' | 'extra' | 'daily', FamilyList>> = { first, extra, daily }

function addPoison(draft: Draft, draw: Draws, from: number): void {
  scaleTo(draft, draw.between(0.3, 0.8))
  const load = draw.log(0.02, 0.5)
  const poison = { flows: draw.logInteger(1, 5), load, stranger: true, fails: 1 }
  draft.crowds.push({ name: 'poison', ...poison, between: [from, 1] })
}

function scaleTo({ crowds }: Draft, load: number): void {
  const times = load / crowds.reduce((sum, crowd) => sum + crowd.load, 0)
  for (const crowd of crowds) crowd.load *= times
}
