import { describe, expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import { seededRandom } from '../../testing/seeded-random.js'
import { FairTracker } from '../tracker.js'

const HEAVY = 40
/** Of the capacity: what all light tenants ask together, and all heavy ones. */
const LIGHT_LOAD = 0.4
const HEAVY_LOAD = 3

/** Light tenants beside forty heavy ones, on a tracker of the default size; counted once most tenants are known. */
function serve(tenants: number, capacity: number, seed: number) {
  const clock = manualClock()
  const random = seededRandom(seed)
  const tracker = new FairTracker({ clock, random: seededRandom(seed + 1_000) })
  const burst = capacity / 2
  const perSecond = capacity * (LIGHT_LOAD + HEAVY_LOAD)
  // By then a tenant has made 1.5 requests in the mean.
  const fromMs = Math.max(20_000, (1.5 * tenants * 1_000) / (LIGHT_LOAD * capacity))
  let tokens = burst
  let [asked, served, used] = [0, 0, 0]
  for (;;) {
    const gap = -Math.log(1 - random()) / perSecond
    clock.advance(gap * 1_000)
    if (clock() > fromMs + 20_000) return { light: served / asked, used: used / (20 * capacity) }
    tokens = Math.min(burst, tokens + gap * capacity)
    const isLight = random() * (LIGHT_LOAD + HEAVY_LOAD) < LIGHT_LOAD
    const name = `${isLight ? 'light' : 'heavy'}-${Math.floor(random() * (isLight ? tenants : HEAVY))}`
    const counts = clock() > fromMs
    if (counts && isLight) asked++
    const key = tracker.key(name)
    if (!tracker.register(key)) continue
    const isServed = tokens >= 1
    if (isServed) tokens--
    if (counts && isServed) used++
    if (counts && isServed && isLight) served++
    tracker.report(key, isServed ? 'success' : 'failure')
  }
}

describe('light tenants beside forty heavy ones', () => {
  it.each([
    [3_000, 1_000],
    [20_000, 1_000],
    [100_000, 4_000],
  ])('keep 0.97 of what they ask: %d, of a resource of %d a second', (tenants, capacity) => {
    const { light, used } = serve(tenants, capacity, 1)
    expect(light).toBeGreaterThan(0.97)
    expect(used).toBeGreaterThan(0.98)
  })
})
