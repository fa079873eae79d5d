import { ClockArbiter, FairTracker } from '@fairlead/core'
import { draws } from '../../worlds/luck.js'
import type { Rule } from '../../worlds/rules.js'

/**
 * Rule `fair-clock` for the processes of one world, which share a clock. Reports and leases are under way until
 * somebody asks or reports next; the arbiter has the clock of the process that came first.
 */
export function sharedRule(): Rule {
  const arbiter = new ClockArbiter()
  const hears = new Map<string, (lease: string) => void>()
  let arbiterClock: (() => number) | undefined
  let underWay: (() => void)[] = []

  function deliver(): void {
    const due = underWay
    underWay = []
    for (const arrive of due) arrive()
  }

  return (seed, clock, weightOf) => {
    arbiterClock ??= clock
    const now = arbiterClock
    const join = (_name: string, hear: (lease: string) => void) => (report: string, member: string) => {
      hears.set(member, hear)
      underWay.push(() => {
        for (const [name, lease] of arbiter.hear(report, now())) underWay.push(() => hears.get(name)?.(lease))
      })
    }
    const shared = { name: 'world', link: { join } }
    const tracker = new FairTracker({ clock, random: draws(seed).next, weightOf, shared })
    return {
      admit(flow, cost) {
        deliver()
        const key = tracker.key(flow)
        if (!tracker.register(key, undefined, cost)) return tracker.refusal(key).retryAfterMs
        return (outcome, settled) => {
          deliver()
          tracker.report(key, outcome, undefined, settled)
        }
      },
    }
  }
}
