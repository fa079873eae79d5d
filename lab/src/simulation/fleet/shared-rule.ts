import { ClockArbiter, FairTracker } from '@fairlead/core'
import { draws } from '../../worlds/luck.js'
import type { Rule } from '../../worlds/rules.js'

/**
 * Rule `fair-clock` for the processes of one world, which share a clock. Reports and leases arrive, and timers fire, at
 * the next request or report; the arbiter has the time of the world.
 */
export function sharedRule(): Rule {
  const hears = new Map<string, (lease: string) => void>()
  let now = (): number => 0
  let underWay: (() => void)[] = []
  let timers: { readonly atMs: number; readonly ring: () => void }[] = []

  function deliver(): void {
    const ringing = timers.filter(({ atMs }) => atMs <= now())
    timers = timers.filter(({ atMs }) => atMs > now())
    for (const { ring } of ringing) ring()
    const due = underWay
    underWay = []
    for (const arrive of due) arrive()
  }

  function after(ms: number, ring: () => void): () => void {
    timers.push({ atMs: now() + ms, ring })
    // Never cancelled.
    return () => {}
  }

  const tell = (leases: ReadonlyMap<string, string>): void => {
    for (const [name, lease] of leases) underWay.push(() => hears.get(name)?.(lease))
  }
  const arbiter = new ClockArbiter(undefined, { now: () => now(), after, tell })

  return (seed, clock, weightOf, truth) => {
    now = () => 1000 * truth.now()
    const join = (_name: string, hear: (lease: string) => void) => (report: string, member: string) => {
      hears.set(member, hear)
      underWay.push(() => tell(arbiter.hear(report, now())))
    }
    const shared = { name: 'world', link: { join, after } }
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
