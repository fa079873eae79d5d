import { it } from 'vitest'
import { simulateFleet } from './fleet.js'
it('x', async () => {
  for (const [limit, windowMs, everyMs, own] of [[20_000,20_000,12,true],[20_000,20_000,9,true],[20_000,20_000,12,false],[2_000,2_000,12,true],[60_000,60_000,30,true],[60_000,60_000,400,true]] as const) {
    const processes = [0, 1, 2, 3].map((at) => ['a', 'b'].map((name) => ({ name: own ? `${name}${at}` : name, weight: 1, cost: 1, everyMs })))
    const r = await simulateFleet({ seed: 1, limit, windowMs, quantum: limit / 100, windows: 4, processes, storeTimeoutMs: 500, weather: { roundTripMs: [50, 50] } })
    console.log(limit, windowMs, everyMs, own, r.windows.map((w) => [w.admitted, w.calls]), r.checks, r.waitsMs.length, r.waitsMs.map((m) => (m / windowMs).toFixed(3)).slice(0, 40).join(' '), r.storeErrors)
  }
})
