import { blue, ClockArbiter, type ClockLink, type FairRuleName, FairTracker } from '@fairlead/core'
import { type After, steady } from '@fairlead/core/internal'
import { seededRandom } from '@fairlead/core/testing'
import type { Controller, MakeController } from '../../fair/controller.js'

/** Processes before one resource, and their exchange of reports. */
export interface Processes {
  readonly processes: number
  /** `alone`: each has its own clock; `blue`: the same with the published rule. */
  readonly way: 'shared' | 'alone' | 'blue'
  /** The process of a flow's requests: any, always the same, or half to the first, a quarter to the second. */
  readonly routing: 'random' | 'sticky' | 'skewed'
  /** Share of messages that are lost, and the longest delay of the others, in seconds. */
  readonly lost?: number
  readonly delay?: number
  /** Report interval, in milliseconds. @default the arbiter's */
  readonly periodMs?: number
}

/** A load balancer before them: a controller for `simulate`. */
export function balanced({ processes, way, routing, lost = 0, delay = 0.01, periodMs }: Processes): MakeController {
  return ({ flows, name, flow, cost }, manual, seed) => {
    const clock = steady(manual)
    const random = seededRandom(seed)
    const hears = new Map<string, (lease: string) => void>()
    let underway: { at: number; arrive: () => void }[] = []
    const post = (arrive: () => void): void => {
      if (random() >= lost) underway.push({ at: clock() + 1000 * delay * random(), arrive })
    }
    const after: After = (ms, run) => {
      const timer = { at: clock() + ms, arrive: run }
      underway.push(timer)
      return () => {
        underway = underway.filter((each) => each !== timer)
      }
    }
    const tell = (leases: ReadonlyMap<string, string>): void => {
      for (const [to, lease] of leases) post(() => hears.get(to)?.(lease))
    }
    const arbiter = new ClockArbiter(periodMs, { now: clock, after, tell })
    const deliver = (): void => {
      if (underway.length === 0) return
      const due = underway.filter(({ at }) => at <= clock())
      if (due.length === 0) return
      underway = underway.filter(({ at }) => at > clock())
      for (const { arrive } of due) arrive()
    }
    const link: ClockLink = {
      after,
      join: (_, hear) => (report, member) => {
        hears.set(member, hear)
        post(() => tell(arbiter.hear(report, clock())))
      },
    }
    const weightOf = flows.some(({ weight }) => weight !== 1) && {
      weightOf: (each: string) => flows[Number(each)]?.weight ?? 1,
    }
    const trackers = Array.from({ length: processes }, (_, i): FairTracker<FairRuleName> => {
      const own = { clock, random: seededRandom(seed + 31 * i + 1) }
      if (way === 'blue') return new FairTracker({ ...blue(), ...own })
      return new FairTracker({ ...own, ...weightOf, shared: way === 'shared' && { name: 'resource', link } })
    })
    const homeOf = (request: number): number => {
      if (routing === 'sticky') return flow[request]! % processes
      const luck = random()
      return routing === 'random'
        ? Math.floor(luck * processes)
        : Math.min(processes - 1, Math.floor(-Math.log2(1 - luck)))
    }
    const reports = new Map<number, (succeeded: boolean) => void>()
    const controller: Controller = {
      admit(request) {
        deliver()
        const tracker = trackers[homeOf(request)]!
        const key = tracker.key(String(name[request]!))
        if (!tracker.register(key, undefined, cost[request]!)) return false
        reports.set(request, (succeeded) => {
          tracker.report(key, succeeded ? 'success' : 'failure', undefined, cost[request]!)
        })
        return true
      },
      report(request, succeeded) {
        deliver()
        reports.get(request)!(succeeded)
        reports.delete(request)
      },
    }
    return controller
  }
}
